//! Finds the test programs in a folder. They are executable ELF files for x86-64 that name an
//! interpreter, and shell scripts. A file that names an interpreter is dynamically linked, so a
//! library can be preloaded into it; the scripts run such programs. Libraries, static programs,
//! other scripts, and setuid or setgid programs are skipped.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXECUTABLE: u32 = 0o111;
const SETUID_OR_SETGID: u32 = 0o6000;
/// The number of bytes at the beginning of a file that are searched for its program headers.
const HEADERS: u64 = 4096;

/// A program to run.
#[derive(Clone, Debug)]
pub struct TestProgram {
    /// The suite that the program belongs to: the name of the folder that the user gave.
    pub suite: String,
    /// The program's path in that folder.
    pub test: String,
    /// The program's full path.
    pub path: PathBuf,
    /// Everything in the program's folder other than test programs: folders, libraries, and data
    /// that the program may open.
    pub beside: Arc<[PathBuf]>,
}

impl TestProgram {
    /// The program's name: `SUITE/PATH`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.suite, self.test)
    }
}

/// All test programs in a folder and its subfolders: first the programs in the folder, in the order
/// of their names, then those in its subfolders.
///
/// # Errors
/// A sentence about a folder that can't be read.
pub fn programs(folder: &Path) -> Result<Vec<TestProgram>, String> {
    let unread = |error| format!("can't read {}: {error}", folder.display());
    let folder = folder.canonicalize().map_err(unread)?;
    let suite = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    walk(&folder, &mut |path, beside| {
        let test = path.strip_prefix(&folder).expect("it is below").to_string_lossy().into_owned();
        found.push(TestProgram { suite: suite.clone(), test, path, beside });
    })
    .map_err(unread)?;
    Ok(found)
}

/// Calls a function for each test program. Symbolic links are not followed, because they may lead
/// out of the folder.
fn walk(folder: &Path, found: &mut impl FnMut(PathBuf, Arc<[PathBuf]>)) -> std::io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    entries.sort();
    let (tests, beside): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| is_test(path));
    let beside = Arc::<[PathBuf]>::from(beside);
    for test in tests {
        found(test, Arc::clone(&beside));
    }
    for path in &*beside {
        if path.is_dir() && !path.is_symlink() {
            walk(path, found)?;
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    let file = fs::symlink_metadata(path).ok().filter(|file| file.is_file());
    let mode = file.map_or(0, |file| file.permissions().mode());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let library = name.ends_with(".so") || name.contains(".so.");
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADERS).read_to_end(&mut head));
    mode & EXECUTABLE != 0
        && mode & SETUID_OR_SETGID == 0
        && !library
        && read.is_ok()
        && (has_interpreter(&head) || head.starts_with(b"#!") && name.ends_with(".sh"))
}

/// Whether these are the first bytes of a 64-bit ELF file for x86-64 whose program headers name an
/// interpreter (`PT_INTERP`).
fn has_interpreter(head: &[u8]) -> bool {
    const ELF_64: &[u8] = b"\x7fELF\x02";
    const X86_64: u64 = 62;
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let headers = || {
        let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        Some((0..count).filter_map(move |n| usize::try_from(first + n * size).ok()))
    };
    head.starts_with(ELF_64)
        && number(18, 2) == Some(X86_64)
        && headers().is_some_and(|mut all| all.any(|at| number(at, 4) == Some(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_differ_from_libraries_and_other_files() {
        let read = |path: &str| fs::read(path).expect("it is there");
        assert!(has_interpreter(&read("/bin/sh")));
        let this = std::env::current_exe().expect("a path");
        assert!(is_test(&this));
        assert!(!has_interpreter(b"#!/bin/sh\n"));
        let packages = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/programs/packages"));
        assert!(is_test(&packages.join("glib.sh")));
        assert!(!is_test(&packages.join("../truth.h")));
        assert!(!has_interpreter(b"\x7fELF\x02"));
        let mut library = read("/bin/sh");
        library.truncate(64);
        library[56] = 0;
        assert!(!has_interpreter(&library), "no headers");
        library[32..40].fill(0xff);
        library[56] = 2;
        assert!(!has_interpreter(&library), "headers beyond the end");
    }
}
