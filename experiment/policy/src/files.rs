//! The files of a program: the program itself, and the libraries that it is linked with.
//!
//! The program's own loader lists these libraries, as for `ldd`. Files that a program loads later
//! are not among them: names in such files can't be looked up, but offsets can be used.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use syncline_code::file::files::DEBUG_DIR;
use syncline_code::locate::Locator;

/// A program's files, and the names in them.
pub struct Files {
    pub(crate) program: String,
    pub(crate) names: Locator,
}

impl Files {
    /// Reads the names of a program and its libraries.
    ///
    /// # Errors
    /// If the program can't be read, or is not an executable file (but a script, for example).
    pub fn of(program: &Path) -> io::Result<Files> {
        let program = program.canonicalize()?;
        let mut paths = vec![program.clone()];
        paths.extend(libraries(&program));
        Ok(Files {
            program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            names: Locator::new(&paths, &[PathBuf::from(DEBUG_DIR)])?,
        })
    }

    /// The names in these files.
    pub fn names(&self) -> &Locator {
        &self.names
    }

    /// The program's name, without its folders.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The build-id of a file; `None` if it is not one of these files or has no build-id.
    pub fn build_id(&self, file: &str) -> Option<&str> {
        self.names.build_id(file).filter(|id| !id.is_empty())
    }
}

/// The paths of the libraries that a program is linked with, as its loader lists them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let listed = Command::new(program)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(listed) = listed else { return Vec::new() };
    let text = String::from_utf8_lossy(&listed.stdout);
    text.lines().filter_map(library).collect()
}

/// The path in a line like `libz.so.1 => /lib/libz.so.1 (0x7f...)`, which may lack the first part.
fn library(line: &str) -> Option<PathBuf> {
    let (found, _) = line.trim().rsplit_once(" (")?;
    let path = found.rsplit_once(" => ").map_or(found, |(_, path)| path);
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaders_list_is_read() {
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffd)"), None);
        assert_eq!(library("\tlibz.so.1 => /lib/libz.so.1 (0x7f)"), Some("/lib/libz.so.1".into()));
        assert_eq!(library("\t/lib64/ld.so.2 (0x7f)"), Some("/lib64/ld.so.2".into()));
        assert_eq!(library("\tlibno.so => not found"), None);
    }

    #[test]
    fn this_test_has_its_libraries() {
        let files = Files::of(&std::env::current_exe().unwrap()).unwrap();
        assert!(files.build_id("libc.so.6").is_some(), "the C library is a file of it");
    }
}
