//! Reads a module's dynamic symbols and relocations. They are those of the loaded file, even if
//! that has been replaced by another one since.

use std::collections::HashMap;
use std::io;

use crate::memory::words;
use crate::modules::Module;

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_STRSZ: u64 = 10;
const DT_JMPREL: u64 = 23;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_HASH: u64 = 4;
const DT_VERSYM: u64 = 0x6fff_fff0;

const R_64: u32 = 1;
const R_GLOB_DAT: u32 = 6;
const R_JUMP_SLOT: u32 = 7;
const STT_FUNC: u8 = 2;
const HIDDEN: u16 = 0x8000;

/// The kind of word that a relocation fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word through which the module calls a function. At first it leads to the module's
    /// resolver.
    Call,
    /// A word through which the module calls a function or finds its address.
    Address,
    /// A pointer in the module's data.
    Pointer,
}

/// A word into which the loader writes a symbol's address.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    pub at: u64,
    pub symbol: u32,
    pub kind: Kind,
}

/// The tables of a module's symbols.
pub struct Symbols {
    bias: u64,
    symbols: Vec<u8>,
    strings: Vec<u8>,
    versions: Vec<u8>,
}

const SIZE: usize = 24;

impl Symbols {
    /// Reads the tables of a module.
    pub fn of(module: &Module) -> io::Result<Symbols> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let at = |tag| module.address(tag).ok_or_else(missing);
        let count = count(module)?;
        let strings = module.read(at(DT_STRTAB)?, module.value(DT_STRSZ).unwrap_or(0) as usize)?;
        let symbols = module.read(at(DT_SYMTAB)?, count * SIZE)?;
        let versions = match module.address(DT_VERSYM) {
            Some(at) => module.read(at, count * 2)?,
            None => Vec::new(),
        };
        Ok(Symbols { bias: module.bias, symbols, strings, versions })
    }

    fn symbol(&self, number: usize) -> Option<&[u8]> {
        self.symbols.get(number * SIZE..(number + 1) * SIZE)
    }

    /// The name of the symbol with this number; `None` if there is no such symbol.
    pub fn name(&self, number: u32) -> Option<&str> {
        let symbol = self.symbol(number as usize)?;
        self.text(u32::from_ne_bytes(symbol[..4].try_into().ok()?).into())
    }

    /// The text at this offset of the table of names; `None` if there is none.
    pub fn text(&self, offset: u64) -> Option<&str> {
        let text = self.strings.get(offset as usize..)?;
        std::str::from_utf8(&text[..text.iter().position(|&b| b == 0)?]).ok()
    }

    /// Whether the module uses the symbol with this number without defining it.
    pub fn is_undefined(&self, number: u32) -> bool {
        self.symbol(number as usize).is_some_and(|symbol| symbol[6..8] == [0, 0])
    }

    /// The functions that the module defines, by name, each with the address and the size of its
    /// default version.
    pub fn functions(&self) -> HashMap<&str, (u64, u64)> {
        let mut functions = HashMap::new();
        for number in 1..self.symbols.len() / SIZE {
            let symbol = self.symbol(number).expect("it is one of them");
            let version = self.versions.get(number * 2..number * 2 + 2);
            let hidden = version.is_some_and(|v| u16::from_ne_bytes([v[0], v[1]]) & HIDDEN != 0);
            if symbol[4] & 0xf != STT_FUNC || self.is_undefined(number as u32) || hidden {
                continue;
            }
            let mut fields = words(&symbol[8..]);
            if let (Some(value), Some(size), Some(name)) =
                (fields.next(), fields.next(), self.name(number as u32))
            {
                functions.insert(name, (self.bias + value, size));
            }
        }
        functions
    }

    /// The address of the symbol of this name; `None` if the module doesn't define it.
    pub fn find(&self, name: &str) -> Option<u64> {
        let number = (1..self.symbols.len() / SIZE)
            .find(|&n| self.name(n as u32) == Some(name) && !self.is_undefined(n as u32))?;
        Some(self.bias + words(&self.symbol(number)?[8..]).next()?)
    }
}

/// The words of a module into which the loader writes addresses of symbols.
pub fn relocations(module: &Module) -> io::Result<Vec<Relocation>> {
    let mut all = Vec::new();
    for (table, size) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
        let (Some(at), Some(size)) = (module.address(table), module.value(size)) else { continue };
        let bytes = module.read(at, size as usize)?;
        for entry in bytes.chunks_exact(SIZE) {
            let fields: Vec<u64> = words(entry).collect();
            let kind = match fields[1] as u32 {
                R_JUMP_SLOT => Kind::Call,
                R_GLOB_DAT => Kind::Address,
                R_64 => Kind::Pointer,
                _ => continue,
            };
            let symbol = (fields[1] >> 32) as u32;
            all.push(Relocation { at: module.bias + fields[0], symbol, kind });
        }
    }
    Ok(all)
}

/// The number of a module's symbols, which follows from its hash tables.
fn count(module: &Module) -> io::Result<usize> {
    let half = |at: u64| -> io::Result<u32> {
        let bytes = module.read(at, 4)?;
        Ok(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
    };
    if let Some(at) = module.address(DT_HASH) {
        return half(at + 4).map(|count| count as usize);
    }
    let at = module.address(DT_GNU_HASH).ok_or(io::ErrorKind::NotFound)?;
    let (buckets, first, bloom) = (half(at)?, half(at + 4)?, half(at + 8)?);
    let table = at + 16 + u64::from(bloom) * 8;
    let chains = table + u64::from(buckets) * 4;
    let bytes = module.read(table, buckets as usize * 4)?;
    let bucket = |b: &[u8]| u32::from_ne_bytes(b.try_into().expect("four bytes"));
    let mut last = bytes.chunks_exact(4).map(bucket).max().unwrap_or(0);
    if last < first {
        return Ok(first as usize);
    }
    // Bit 0 is set for the last symbol of a bucket.
    while half(chains + u64::from(last - first) * 4)? & 1 == 0 {
        last += 1;
    }
    Ok(last as usize + 1)
}
