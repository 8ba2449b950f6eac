//! Finds the library that is preloaded.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, RECORD_FAILED};

/// The library that records.
pub const LIBRARY: &str = "libsyncline_recorder.so";
/// The environment variable that names another file for this library, for developers of Syncline.
pub const OVERRIDE: &str = "SYNCLINE_PRELOAD";

/// Finds the library with this name. If an environment variable names a file, it is that file.
/// Otherwise it is the file next to this executable, as a build leaves it, or else the one in
/// `../lib/syncline`, where it is installed.
///
/// # Errors
/// With [`RECORD_FAILED`], if there is no such file, or if the loader can't take its path.
pub fn find(name: &str, variable: &str) -> Result<PathBuf, Failure> {
    let candidates = candidates(name, variable)?;
    let found = candidates.iter().find(|path| path.is_file());
    let Some(library) = found.and_then(|path| path.canonicalize().ok()) else {
        let looked: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::message(
            RECORD_FAILED,
            format!("the library to preload is missing: there is no {}", looked.join(" and no ")),
        )
        .hint(format!("build all of Syncline (`./x build`), or set {variable} to the library")));
    };
    loadable(library)
}

/// Finds another file that is installed with Syncline, in the same folders. It is not preloaded, so
/// its path may contain any characters.
///
/// # Errors
/// With [`RECORD_FAILED`], if there is no such file.
pub fn find_part(name: &str, variable: &str) -> Result<PathBuf, Failure> {
    let candidates = candidates(name, variable)?;
    let found = candidates.iter().find_map(|path| path.canonicalize().ok().filter(|p| p.is_file()));
    found.ok_or_else(|| {
        let looked: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        let message = format!("{name} is missing: there is no {}", looked.join(" and no "));
        Failure::message(RECORD_FAILED, message)
            .hint(format!("build all of Syncline (`./x build`), or set {variable} to the file"))
    })
}

fn candidates(name: &str, variable: &str) -> Result<Vec<PathBuf>, Failure> {
    if let Some(named) = env::var_os(variable) {
        return Ok(vec![named.into()]);
    }
    let executable = env::current_exe().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let beside = executable.parent().unwrap_or(Path::new("/"));
    Ok(vec![beside.join(name), beside.join("../lib/syncline").join(name)])
}

/// Refuses a path that `LD_PRELOAD` can't contain: spaces and colons separate its entries, and
/// can't be quoted.
fn loadable(library: PathBuf) -> Result<PathBuf, Failure> {
    let bytes = library.as_os_str().as_encoded_bytes();
    if bytes.iter().any(|b| b.is_ascii_whitespace() || *b == b':') {
        return Err(Failure::message(
            RECORD_FAILED,
            format!("the dynamic loader can't preload {}", library.display()),
        )
        .hint("move Syncline to a folder whose path has no spaces and no colons"));
    }
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_loader_would_split_is_refused() {
        assert!(loadable("/opt/syncline/lib.so".into()).is_ok());
        assert!(loadable("/opt/my tools/lib.so".into()).is_err());
        assert!(loadable("/opt/a:b/lib.so".into()).is_err());
    }
}
