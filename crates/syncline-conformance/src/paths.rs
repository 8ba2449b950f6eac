//! Where things are: the two binaries under test, and a place for what tests make.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file in the folder that cargo built this test's profile into.
pub fn beside_tests(name: &str) -> PathBuf {
    profile_folder().join(name)
}

/// The `syncline` command.
///
/// # Panics
/// If it was not built.
pub fn syncline() -> PathBuf {
    built("syncline")
}

/// The library that `syncline record` preloads.
///
/// # Panics
/// If it was not built.
pub fn preload_library() -> PathBuf {
    built("libsyncline_preload.so")
}

/// The library that `syncline exec` preloads.
///
/// # Panics
/// If it was not built.
pub fn replace_library() -> PathBuf {
    built("libsyncline_replace.so")
}

/// The library that `syncline inspect` preloads.
///
/// # Panics
/// If it was not built.
pub fn inspect_library() -> PathBuf {
    built("libsyncline_inspect.so")
}

/// A new empty folder that everybody may read, removed when the value is dropped. Its path
/// is short enough for a socket.
///
/// # Panics
/// If it can't be made.
pub fn scratch() -> tempfile::TempDir {
    let everybody = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().prefix("syncline-").permissions(everybody).tempdir();
    folder.expect("a scratch folder")
}

/// The folder for what tests keep from run to run.
pub(crate) fn tmp_folder() -> PathBuf {
    let folder = profile_folder().join("conformance");
    fs::create_dir_all(&folder).expect("a folder for the tests");
    folder
}

/// The crate's own folder in the source tree.
pub(crate) fn source_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn built(name: &str) -> PathBuf {
    let path = beside_tests(name);
    let flag = if cfg!(debug_assertions) { "" } else { " --release" };
    assert!(path.exists(), "{} is missing: run `cargo build{flag}` first", path.display());
    path
}

/// `target/<profile>`: tests run from its folder `deps`.
fn profile_folder() -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let folder = test.ancestors().find(|a| a.file_name().is_some_and(|n| n == "deps"));
    folder.and_then(Path::parent).expect("cargo runs tests from target/<profile>/deps").to_owned()
}
