//! Whether an executable is loaded by a dynamic loader that takes our library.
//!
//! The library is x86-64 code that calls glibc. So it can get into a program only if the
//! program is for the same machine, names a loader (a static one names none), and if that
//! loader is glibc's.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::elf::{
    EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_X86_64, FileHeader64, Machine,
};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

use super::sanitizer::{self, Sanitizer};
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND};

/// The machine that the library is for.
const RECORDED: Machine = EM_X86_64;
/// A section that the Go linker leaves.
const GO_SECTION: &[u8] = b".go.buildinfo";

/// Makes sure that the library can get into this executable.
///
/// # Errors
/// With [`CANNOT_RECORD`] and the reason; with [`NOT_FOUND`] if its loader is missing.
pub fn check(path: &Path) -> Result<(), Failure> {
    let refuse = |why: &str, hint: &str| {
        let message = format!("can't load a library into {}: {why}", path.display());
        Err(Failure::message(CANNOT_RECORD, message).hint(hint))
    };
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let found = match examine(&ReadCache::new(file)) {
        Ok(found) => found,
        Err(error) => {
            return refuse(&format!("damaged executable: {error}"), "build it again");
        }
    };
    match found {
        Found::Bits32 => refuse(
            "it is a 32-bit program, and Syncline's library is 64-bit",
            "build it for 64 bits",
        ),
        Found::Machine(number) => refuse(
            &format!("it is a program for {}, not for this machine", machine(number)),
            "record it on a machine of its kind",
        ),
        Found::Static { go: true } => refuse(
            "it is a static Go program; Go has its own locks, below the C library",
            "Go's own profiler shows them: see runtime.SetMutexProfileFraction",
        ),
        Found::Static { go: false } if is_loader(path) => Ok(()),
        Found::Static { go: false } => refuse(
            "it is statically linked, so there is no dynamic loader to load Syncline's library",
            "link it dynamically (without -static) and run that",
        ),
        Found::Loader(loader) if is_musl(&loader) => refuse(
            "it uses the C library musl, and Syncline's library needs glibc",
            "build it on a system with glibc and record that",
        ),
        Found::Loader(loader) if !Path::new(OsStr::from_bytes(&loader)).exists() => {
            let loader = String::from_utf8_lossy(&loader);
            let message = format!("can't run {}: its loader {loader} is missing", path.display());
            Err(Failure::message(NOT_FOUND, message).hint("install the C library it was built for"))
        }
        Found::Loader(_) => match sanitizer_of(path) {
            None | Some(Sanitizer::Leak) => Ok(()),
            Some(sanitizer) => {
                let (name, option) = (sanitizer.name(), sanitizer.option());
                refuse(
                    &format!(
                        "it was built with {name}, whose runtime stands in front of the C \
                         library's functions itself"
                    ),
                    &format!("build it without {option} and run that"),
                )
            }
        },
    }
}

/// Makes sure that this executable has no allocator of LeakSanitizer's.
///
/// # Errors
/// With [`CANNOT_RECORD`].
pub fn check_allocator(path: &Path) -> Result<(), Failure> {
    if sanitizer_of(path) != Some(Sanitizer::Leak) {
        return Ok(());
    }
    let message = format!(
        "can't follow the allocations of {}: it was built with LeakSanitizer, which follows them \
         itself",
        path.display()
    );
    Err(Failure::message(CANNOT_RECORD, message).hint("build it without -fsanitize=leak"))
}

/// The sanitizer that this executable was built with; `None` if it can't be read. Go has runtimes
/// of its own with the same names, and calls nothing through the C library.
fn sanitizer_of(path: &Path) -> Option<Sanitizer> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    match is_go(header, &cache) {
        Ok(false) => sanitizer::find(header, &cache).ok()?,
        _ => None,
    }
}

enum Found {
    Bits32,
    Machine(Machine),
    Static {
        go: bool,
    },
    /// The path of its loader.
    Loader(Vec<u8>),
}

fn examine<'data, R: ReadRef<'data>>(data: R) -> object::Result<Found> {
    if FileKind::parse(data)? == FileKind::Elf32 {
        return Ok(Found::Bits32);
    }
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let machine = header.e_machine(endian);
    if machine != RECORDED {
        return Ok(Found::Machine(machine));
    }
    for segment in header.program_headers(endian, data)? {
        if let Some(loader) = segment.interpreter(endian, data)? {
            return Ok(Found::Loader(loader.to_owned()));
        }
    }
    Ok(Found::Static { go: is_go(header, data)? })
}

fn is_go<'data, R: ReadRef<'data>>(
    header: &FileHeader64<Endianness>,
    data: R,
) -> object::Result<bool> {
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    Ok(sections.iter().any(|s| sections.section_name(endian, s) == Ok(GO_SECTION)))
}

/// The loader itself names no loader, and loads a library for `ld.so ./app` as well.
fn is_loader(path: &Path) -> bool {
    let name = |path: &Path| Some(path.file_name()?.as_bytes().starts_with(b"ld-"));
    name(path) == Some(true) || path.canonicalize().ok().and_then(|p| name(&p)) == Some(true)
}

fn is_musl(loader: &[u8]) -> bool {
    loader.windows(7).any(|part| part == b"ld-musl")
}

fn machine(number: Machine) -> String {
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
