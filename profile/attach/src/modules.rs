//! The modules that a process has loaded: the loader's list, read from outside.

use std::fs::read;
use std::io;
use std::ops::Range;
use std::thread::sleep;
use std::time::Duration;

use crate::memory::{Memory, words};

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const DT_DEBUG: u64 = 21;
/// No program has more.
const MOST: usize = 100_000;

/// A loaded module.
#[derive(Clone, Debug)]
pub struct Module {
    /// What is added to an address of its file.
    pub bias: u64,
    /// The path by which it was loaded; empty for the program.
    pub name: String,
    /// From its first page to its last byte.
    pub range: Range<u64>,
    /// Its dynamic section: tags and values.
    pub dynamic: Vec<(u64, u64)>,
}

impl Module {
    /// A value of its dynamic section.
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// A table's address, of which the loader may or may not have made one in memory.
    pub fn address(&self, tag: u64) -> Option<u64> {
        let value = self.value(tag)?;
        Some(if value < self.bias { value + self.bias } else { value })
    }
}

/// The loader's entries of the loaded modules, and their fields: cheap to read.
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

/// All modules, in the order in which symbols are searched; none if there is no loader's list yet.
///
/// The loader may change its list and free what was in it while it is read; then it is read again.
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
    let mut modules = Vec::new();
    while next != 0 && modules.len() < MOST {
        let map: Vec<u64> = words(&memory.read(next, 32)?).collect();
        let (bias, name, section) = (map[0], map[1], map[2]);
        // The headers of a module that is being unloaded, and of the kernel's own module, can't be
        // found.
        if let Ok(range) =
            range(memory, bias, if modules.is_empty() { Some(&headers) } else { None })
        {
            let name = memory.text(name).unwrap_or_default();
            modules.push(Module { bias, name, range, dynamic: dynamic(memory, section)? });
        }
        next = map[3];
    }
    Ok(modules)
}

/// The program's headers, and the first entry of the loader's list; 0 if there is none yet.
fn list(memory: Memory) -> io::Result<(Vec<Header>, u64)> {
    let auxv = read(format!("/proc/{}/auxv", memory.0))?;
    let auxv: Vec<u64> = words(&auxv).collect();
    let value = |tag| auxv.chunks_exact(2).find(|pair| pair[0] == tag).map(|pair| pair[1]);
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let at = value(AT_PHDR).ok_or_else(missing)?;
    let headers = headers(memory, at, value(AT_PHNUM).unwrap_or(0) as usize)?;
    let of = |kind| headers.iter().find(|header| header.kind == kind);
    let bias = of(PT_PHDR).map_or(0, |header| at.wrapping_sub(header.address));
    let section = of(PT_DYNAMIC).ok_or_else(missing)?;
    let section = dynamic(memory, bias + section.address)?;
    let debug = section.iter().find(|entry| entry.0 == DT_DEBUG).map_or(0, |entry| entry.1);
    let first = if debug == 0 { 0 } else { memory.word(debug + 8)? };
    Ok((headers, first))
}

struct Header {
    kind: u32,
    address: u64,
    size: u64,
}

fn headers(memory: Memory, at: u64, count: usize) -> io::Result<Vec<Header>> {
    const SIZE: usize = 56;
    let bytes = memory.read(at, count.min(1000) * SIZE)?;
    let header = |bytes: &[u8]| {
        let words: Vec<u64> = words(bytes).collect();
        Header { kind: words[0] as u32, address: words[2], size: words[5] }
    };
    Ok(bytes.chunks_exact(SIZE).map(header).collect())
}

fn range(memory: Memory, bias: u64, known: Option<&Vec<Header>>) -> io::Result<Range<u64>> {
    const PAGE: u64 = 4096;
    let read;
    let headers = match known {
        Some(headers) => headers,
        None => {
            let start = memory.read(bias, 64)?;
            if !start.starts_with(b"\x7fELF") {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let offset = u64::from_ne_bytes(start[32..40].try_into().expect("eight bytes"));
            let count = u16::from_ne_bytes([start[56], start[57]]);
            read = self::headers(memory, bias + offset, count.into())?;
            &read
        }
    };
    let loads = || headers.iter().filter(|header| header.kind == PT_LOAD);
    let first = loads().map(|header| header.address & !(PAGE - 1)).min();
    let last = loads().map(|header| header.address + header.size).max();
    match (first, last) {
        (Some(first), Some(last)) => Ok(bias + first..bias + last),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
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
