//! Finds the program as `execvp` does, and checks that it can be recorded.
//!
//! The program may be a script whose first line names an interpreter. So the check follows scripts
//! to the executable that runs them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{File, metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::{elf, privilege};
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND};

/// The folders that are searched if `PATH` is not set; the C library uses these too.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The longest chain of scripts in which each is the interpreter of the one before. The kernel
/// follows no more.
const SCRIPT_LEVELS: u32 = 5;
/// The kernel reads at most this many bytes of a script's first line.
const FIRST_LINE: usize = 256;

/// Finds the file that this name stands for.
///
/// # Errors
/// With [`NOT_FOUND`], or with [`CANNOT_RECORD`] if there are such files but none can be executed.
/// Both are marked as [`Failure::of_no_run`].
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let path = env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    find_in(name, &path)
}

fn find_in(name: &OsStr, path: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return executable(&file).map(|()| file);
    }
    let mut refused = None;
    for folder in env::split_paths(path) {
        let file = Path::new(".").join(folder).join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(failure) if failure.status() == CANNOT_RECORD => refused = Some(failure),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| {
        let message = format!("no program named `{}` in PATH", name.display());
        Failure::message(NOT_FOUND, message)
            .of_no_run()
            .hint("give its path, such as ./app, if it is not in a folder that PATH lists")
    }))
}

fn executable(file: &Path) -> Result<(), Failure> {
    let shown = file.display();
    let meta = metadata(file).map_err(|e| {
        let error = anyhow::Error::new(e).context(format!("can't find {shown}"));
        Failure::new(NOT_FOUND, error).of_no_run()
    })?;
    let refuse = |why| {
        let message = format!("can't run {shown}: {why}");
        Err(Failure::message(CANNOT_RECORD, message).of_no_run())
    };
    if meta.is_dir() {
        return refuse("it is a folder");
    }
    if access(file, AccessFlags::X_OK).is_err() {
        return refuse("it is not executable")
            .map_err(|f| f.hint(format!("`chmod +x {shown}` makes it executable")));
    }
    Ok(())
}

/// Checks that the loader will load the library into this program.
///
/// # Errors
/// With [`CANNOT_RECORD`] and the reason, or with [`NOT_FOUND`] if the program's interpreter or
/// loader is missing. If the interpreter can't run or the loader is missing, the failure is marked
/// as [`Failure::of_no_run`].
pub fn check(program: &Path) -> Result<(), Failure> {
    check_executable(program, |program| {
        elf::check(program)?;
        privilege::check(program)
    })
}

/// Checks that a library can intercept the calls of this program's allocator.
///
/// # Errors
/// With [`CANNOT_RECORD`], if the program was built with LeakSanitizer. If the interpreter of a
/// script is missing or can't run, same errors as [`check`].
pub fn refuse_leak_checker(program: &Path) -> Result<(), Failure> {
    check_executable(program, elf::check_allocator)
}

/// Checks the executable that runs a program. The program may be a script.
fn check_executable(
    program: &Path,
    check: impl Fn(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut program = program.to_owned();
    for _ in 0..SCRIPT_LEVELS {
        let mut start = [0; FIRST_LINE];
        let Ok(length) = File::open(&program).and_then(|mut file| file.read(&mut start)) else {
            // A program that can't be read may still be executable. It is assumed to be one that
            // can be recorded.
            return Ok(());
        };
        program = match kind(&start[..length]) {
            Kind::Elf => return check(&program),
            Kind::Script(interpreter) => find(&interpreter).map_err(|failure| {
                let script = program.display();
                failure.hint(format!("the first line of {script} names its interpreter"))
            })?,
            Kind::Other => {
                let message = format!(
                    "can't load a library into {}: it is neither an ELF executable nor a script",
                    program.display()
                );
                return Err(Failure::message(CANNOT_RECORD, message));
            }
        };
    }
    Ok(())
}

enum Kind {
    Elf,
    /// A script, with the program that runs it.
    Script(OsString),
    Other,
}

fn kind(start: &[u8]) -> Kind {
    if start.starts_with(b"\x7fELF") {
        Kind::Elf
    } else if start.starts_with(b"#!") {
        Kind::Script(interpreter(&start[2..]))
    } else if start.contains(&0) {
        Kind::Other
    } else {
        // `execvp` passes a text without such a first line to the shell.
        Kind::Script("/bin/sh".into())
    }
}

/// The interpreter that the first line of a script names, directly or as an argument of `env`.
fn interpreter(line: &[u8]) -> OsString {
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let named = match Path::new(OsStr::from_bytes(first)).file_name() {
        Some(name) if name == "env" => {
            words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
        }
        _ => None,
    };
    OsStr::from_bytes(named.unwrap_or(first)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str) -> OsString {
        interpreter(line.as_bytes())
    }

    #[test]
    fn the_first_line_names_the_interpreter() {
        assert_eq!(named("/bin/sh\necho"), "/bin/sh");
        assert_eq!(named(" /bin/sh -e\n"), "/bin/sh");
        assert_eq!(named("/usr/bin/env python3\n"), "python3");
        assert_eq!(named("/usr/bin/env -S A=1 awk -f\n"), "awk");
        assert_eq!(named("/usr/bin/env\n"), "/usr/bin/env");
    }

    #[test]
    fn path_is_searched_in_order_and_refusals_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::fs::create_dir_all(one.join("tool")).unwrap();
        std::fs::create_dir_all(&two).unwrap();
        let path = env::join_paths([&one, &two]).unwrap();

        let only_a_folder = find_in(OsStr::new("tool"), &path).unwrap_err();
        assert_eq!(only_a_folder.status(), CANNOT_RECORD);
        let missing = find_in(OsStr::new("other"), &path).unwrap_err();
        assert_eq!(missing.status(), NOT_FOUND);

        std::fs::copy("/bin/true", two.join("tool")).unwrap();
        assert_eq!(find_in(OsStr::new("tool"), &path).unwrap(), two.join("tool"));
    }
}
