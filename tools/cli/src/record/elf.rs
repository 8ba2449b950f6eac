//! Checks whether an executable's dynamic loader can load our library.
//!
//! The library is x86-64 code that calls glibc. So it can be loaded into a program only if the
//! program is for x86-64 and names glibc's loader. A static program names no loader.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use syncline_code::executable::{Executable, Sanitizer, sanitizer_of};

use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND};

/// Checks that our library can be loaded into this executable.
///
/// # Errors
/// With [`CANNOT_RECORD`] and the reason, or with [`NOT_FOUND`] if the executable's loader is
/// missing.
pub fn check(path: &Path) -> Result<(), Failure> {
    let refuse = |why: &str, hint: &str| {
        let message = format!("can't load a library into {}: {why}", path.display());
        Err(Failure::message(CANNOT_RECORD, message).hint(hint))
    };
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let found = match Executable::read(file) {
        Ok(found) => found,
        Err(error) => {
            return refuse(&format!("damaged executable: {error}"), "build it again");
        }
    };
    match found {
        Executable::Bits32 => refuse(
            "it is a 32-bit program, and Syncline's library is 64-bit",
            "build it for 64 bits",
        ),
        Executable::Machine(name) => refuse(
            &format!("it is a program for {name}, not for this machine"),
            "record it on such a machine",
        ),
        Executable::Static { go: true } => refuse(
            "it is a static Go program; Go has its own locks, below the C library",
            "Go's own profiler shows them: see runtime.SetMutexProfileFraction",
        ),
        Executable::Static { go: false } if is_loader(path) => Ok(()),
        Executable::Static { go: false } => refuse(
            "it is statically linked, so there is no dynamic loader to load Syncline's library",
            "link it dynamically (without -static), and record that build",
        ),
        Executable::Loader(loader) if is_musl(&loader) => refuse(
            "it uses the C library musl, and Syncline's library needs glibc",
            "build it on a system with glibc, and record that build",
        ),
        Executable::Loader(loader) if !loader.exists() => {
            let loader = loader.display();
            let message = format!("can't run {}: its loader {loader} is missing", path.display());
            Err(Failure::message(NOT_FOUND, message)
                .of_no_run()
                .hint("install the C library it was built for"))
        }
        Executable::Loader(_) => match sanitizer_of(path) {
            None | Some(Sanitizer::Leak) => Ok(()),
            Some(sanitizer) => {
                let (name, option) = (sanitizer.name(), sanitizer.option());
                refuse(
                    &format!(
                        "it was built with {name}, whose runtime intercepts the C library's \
                         functions itself"
                    ),
                    &format!("build it without {option}, and run that build"),
                )
            }
        },
    }
}

/// Checks that this executable was not built with LeakSanitizer, which brings its own allocator.
///
/// # Errors
/// With [`CANNOT_RECORD`], if it was built so.
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

/// Whether the executable is itself a loader. A loader names no loader, but `ld.so ./app` loads our
/// library.
fn is_loader(path: &Path) -> bool {
    let name = |path: &Path| Some(path.file_name()?.as_bytes().starts_with(b"ld-"));
    name(path) == Some(true) || path.canonicalize().ok().and_then(|p| name(&p)) == Some(true)
}

fn is_musl(loader: &Path) -> bool {
    loader.as_os_str().as_bytes().windows(7).any(|part| part == b"ld-musl")
}
