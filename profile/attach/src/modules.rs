//! Finds the modules that a process has loaded, by reading the loader's list from outside.

use std::fs::read;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use object::NativeEndian;
use object::elf::{PT_DYNAMIC, PT_PHDR};
use object::read::elf::ProgramHeader as _;

use crate::image::{self, Header, Image};
use crate::maps;
use crate::memory::{Memory, words};

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const DT_DEBUG: u64 = 21;
/// More modules than any program has, as a limit for a damaged list.
const MOST: usize = 100_000;

/// A loaded module.
#[derive(Clone, Debug)]
pub struct Module {
    /// What has to be added to an address in the file to get the address in memory.
    pub bias: u64,
    /// The path by which it was loaded; empty for the program itself.
    pub name: String,
    /// Its addresses, from the first page to the last byte.
    pub range: Range<u64>,
    /// The entries of its dynamic section, each with its tag and its value.
    pub dynamic: Vec<(u64, u64)>,
    image: Arc<Image>,
}

impl Module {
    /// The value of the entry with this tag in the dynamic section; `None` if there is no such
    /// entry.
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// The address in memory of the table to which the entry with this tag leads; `None` if there
    /// is no such entry. The loader has added the bias to some entries but not to others.
    pub fn address(&self, tag: u64) -> Option<u64> {
        let value = self.value(tag)?;
        Some(if value < self.bias { value + self.bias } else { value })
    }

    /// Reads bytes that the program never writes to, such as tables of symbols.
    pub fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        self.image.read(at, length)
    }

    /// The parts of the module that the program may write to.
    pub fn writable(&self) -> impl Iterator<Item = Range<u64>> {
        self.image.writable().map(|header| self.image.range(header))
    }

    /// The parts of the module with instructions.
    pub fn code(&self) -> impl Iterator<Item = Range<u64>> {
        self.image.code().map(|header| self.image.range(header))
    }

    /// The parts of the module that the program never writes to.
    pub fn constant(&self) -> impl Iterator<Item = Range<u64>> {
        self.image.constant().map(|header| self.image.range(header))
    }
}

/// The entries of the loader's list: the address of each entry, and the bias of its module. This
/// takes little time, and shows whether modules were loaded or unloaded.
pub fn loaded(memory: Memory) -> io::Result<Vec<(u64, u64)>> {
    let (_, mut next) = list(memory)?;
    let mut found = Vec::new();
    while next != 0 && found.len() < MOST {
        let entry: Vec<u64> = words(&memory.read(next, 32)?).collect();
        found.push((next, entry[0]));
        next = entry[3];
    }
    Ok(found)
}

/// All modules, in the order in which symbols are searched in them. Empty if the loader has no list
/// yet.
///
/// The loader may change its list and free entries while it is being read. If so, it is read again.
pub fn of(memory: Memory) -> io::Result<Vec<Module>> {
    const ATTEMPTS: u32 = 200;
    let mut attempt = 1;
    loop {
        let before = loaded(memory);
        let modules = all(memory);
        let is_unmapped = |error: &io::Error| error.raw_os_error() == Some(libc::EFAULT);
        let has_changed = match &modules {
            Ok(_) => before.ok() != loaded(memory).ok(),
            Err(error) => is_unmapped(error),
        };
        if !has_changed || attempt == ATTEMPTS {
            return modules;
        }
        attempt += 1;
        sleep(Duration::from_micros(500));
    }
}

fn all(memory: Memory) -> io::Result<Vec<Module>> {
    let (headers, mut next) = list(memory)?;
    let maps = maps::of(memory.0)?;
    let mut modules = Vec::new();
    while next != 0 && modules.len() < MOST {
        let map: Vec<u64> = words(&memory.read(next, 32)?).collect();
        let (bias, name, section) = (map[0], map[1], map[2]);
        // If the headers can't be read, the module is left out. Those of a module that is being
        // unloaded, and of the kernel's own module, can't be read.
        let known = if modules.is_empty() { Some(headers.clone()) } else { None };
        if let Ok(image) = Image::of(memory, &maps, bias, known)
            && let Some(range) = image.whole()
        {
            let (name, dynamic) =
                (memory.text(name).unwrap_or_default(), dynamic(memory, section)?);
            modules.push(Module { bias, name, range, dynamic, image: Arc::new(image) });
        }
        next = map[3];
    }
    Ok(modules)
}

/// The program's headers, and the address of the first entry of the loader's list, which is 0 if
/// there is no list yet.
fn list(memory: Memory) -> io::Result<(Vec<Header>, u64)> {
    let auxv = read(format!("/proc/{}/auxv", memory.0))?;
    let auxv: Vec<u64> = words(&auxv).collect();
    let value = |tag| auxv.chunks_exact(2).find(|pair| pair[0] == tag).map(|pair| pair[1]);
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let at = value(AT_PHDR).ok_or_else(missing)?;
    let count = value(AT_PHNUM).unwrap_or(0) as usize;
    let headers = image::headers(&memory.read(at, count * size_of::<Header>())?)?;
    let of = |kind| headers.iter().find(|header| header.p_type(NativeEndian) == kind);
    let address = |header: &Header| header.p_vaddr(NativeEndian);
    let bias = of(PT_PHDR).map_or(0, |header| at.wrapping_sub(address(header)));
    let section = of(PT_DYNAMIC).ok_or_else(missing)?;
    let section = dynamic(memory, bias + address(section))?;
    let debug = section.iter().find(|entry| entry.0 == DT_DEBUG).map_or(0, |entry| entry.1);
    let first = if debug == 0 { 0 } else { memory.word(debug + 8)? };
    Ok((headers, first))
}

fn dynamic(memory: Memory, at: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut entries = Vec::new();
    for entry in 0..1000 {
        let words: Vec<u64> = words(&memory.read(at + entry * 16, 16)?).collect();
        if words[0] == 0 {
            break;
        }
        entries.push((words[0], words[1]));
    }
    Ok(entries)
}
