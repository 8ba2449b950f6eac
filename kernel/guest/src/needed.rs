//! The files that a program of this machine needs to run: its interpreter and its libraries.
//!
//! The guest has no such files of its own, so they are copied. Libraries are searched where Debian
//! and similar systems keep them. Libraries that a program opens later itself (`dlopen`) are not
//! found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};

/// The folders that are searched for libraries.
const FOLDERS: [&str; 5] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];

/// The paths of the interpreter and of all libraries that a program needs, directly or indirectly;
/// an empty set for a file that is not an ELF program.
///
/// # Errors
/// A sentence, if the program or a library can't be read, or a library is missing.
pub fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::new();
    let mut left = vec![program.to_owned()];
    while let Some(path) = left.pop() {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some(names) = names(&bytes) else { continue };
        for name in names {
            let library = locate(&name).ok_or_else(|| {
                format!("{} needs {name}, which is not in {}", path.display(), FOLDERS.join(", "))
            })?;
            if found.insert(library.clone()) {
                left.push(library);
            }
        }
    }
    Ok(found)
}

fn locate(name: &str) -> Option<PathBuf> {
    if name.starts_with('/') {
        return Some(PathBuf::from(name));
    }
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

/// The interpreter and the libraries that an ELF file names; `None` for other files.
fn names(bytes: &[u8]) -> Option<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let mut names = Vec::new();
    let segments = header.program_headers(endian, bytes).ok()?;
    let text = |at: u64| {
        let bytes = bytes.read_bytes_at_until(at..bytes.len() as u64, 0).ok()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let offset = |address: u64| {
        let inside = |segment: &&elf::ProgramHeader64<Endianness>| {
            let start = segment.p_vaddr(endian);
            segment.p_type(endian) == elf::PT_LOAD
                && (start..start + segment.p_filesz(endian)).contains(&address)
        };
        let segment = segments.iter().find(inside)?;
        Some(address - segment.p_vaddr(endian) + segment.p_offset(endian))
    };
    for segment in segments {
        if segment.p_type(endian) == elf::PT_INTERP {
            names.push(text(segment.p_offset(endian))?);
        }
        let Ok(Some(dynamic)) = segment.dynamic(endian, bytes) else { continue };
        let values = |tag: elf::DynamicTag| {
            let entries = dynamic.iter().filter(move |entry| entry.tag(endian) == tag);
            entries.map(|entry| entry.val(endian))
        };
        let strings = values(elf::DT_STRTAB).next().and_then(offset)?;
        for name in values(elf::DT_NEEDED) {
            names.push(text(strings + name)?);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_needs_its_interpreter_and_libc_and_a_text_needs_nothing() {
        let own = std::env::current_exe().expect("a path");
        let found = libraries(&own).expect("this very program runs");
        let has = |name: &str| found.iter().any(|path| path.to_string_lossy().contains(name));
        assert!(has("ld-linux-x86-64.so") && has("libc.so.6"), "{found:?}");
        assert!(libraries(Path::new("/etc/passwd")).expect("a text").is_empty());
        assert!(libraries(Path::new("/nowhere")).is_err());
    }
}
