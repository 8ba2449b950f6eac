//! Properties of an executable before it runs: its machine, its loader, and whether it was built
//! with a sanitizer.

mod sanitizer;

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf::{
    EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_X86_64, FileHeader64, Machine,
};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

pub use object::Error;
pub use sanitizer::Sanitizer;

/// A section that the Go linker writes.
const GO_SECTION: &[u8] = b".go.buildinfo";

/// How an executable is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executable {
    /// The program has 32 bits.
    Bits32,
    /// The program is for a machine other than x86-64, which has this name.
    Machine(String),
    /// The program names no loader, so it is static.
    Static {
        /// Whether it is a Go program.
        go: bool,
    },
    /// The program is dynamic, and has this loader.
    Loader(PathBuf),
}

impl Executable {
    /// Reads the headers of an executable.
    ///
    /// # Errors
    /// If the file can't be read, is damaged, or is not an ELF file.
    pub fn read(file: File) -> Result<Executable, Error> {
        examine(&ReadCache::new(file))
    }
}

/// The sanitizer that the executable in a file was built with; `None` if there is none, or if the
/// file can't be read. `None` for Go programs too: Go has its own runtimes with the same names, and
/// calls nothing through the C library.
pub fn sanitizer_of(path: &Path) -> Option<Sanitizer> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    match is_go(header, &cache) {
        Ok(false) => sanitizer::find(header, &cache).ok()?,
        _ => None,
    }
}

fn examine<'data, R: ReadRef<'data>>(data: R) -> object::Result<Executable> {
    if FileKind::parse(data)? == FileKind::Elf32 {
        return Ok(Executable::Bits32);
    }
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let machine = header.e_machine(endian);
    if machine != EM_X86_64 {
        return Ok(Executable::Machine(name_of(machine)));
    }
    for segment in header.program_headers(endian, data)? {
        if let Some(loader) = segment.interpreter(endian, data)? {
            return Ok(Executable::Loader(OsStr::from_bytes(loader).into()));
        }
    }
    Ok(Executable::Static { go: is_go(header, data)? })
}

fn is_go<'data, R: ReadRef<'data>>(
    header: &FileHeader64<Endianness>,
    data: R,
) -> object::Result<bool> {
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    Ok(sections.iter().any(|s| sections.section_name(endian, s) == Ok(GO_SECTION)))
}

fn name_of(number: Machine) -> String {
    let name = match number {
        EM_386 => "32-bit x86",
        EM_X86_64 => "x86-64",
        EM_ARM => "32-bit ARM",
        EM_AARCH64 => "64-bit ARM",
        EM_RISCV => "RISC-V",
        EM_PPC64 => "POWER",
        _ => return format!("another processor (ELF machine {})", number.0),
    };
    name.to_owned()
}
