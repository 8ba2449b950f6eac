//! The paths of the command and the libraries under test, and of folders for the tests' files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The path of a file in the folder to which cargo writes the build of the tests' profile.
pub fn beside_tests(name: &str) -> PathBuf {
    profile_folder().join(name)
}

/// The `syncline` command.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn syncline() -> PathBuf {
    built("syncline")
}

/// The library that `syncline record` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn preload_library() -> PathBuf {
    built("libsyncline_recorder.so")
}

/// The library that `syncline exec` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn replace_library() -> PathBuf {
    built("libsyncline_replace.so")
}

/// The library that `syncline inspect` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn inspect_library() -> PathBuf {
    built("libsyncline_tracer.so")
}

/// The library that `syncline whatif` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn delay_library() -> PathBuf {
    built("libsyncline_delay.so")
}

/// The library that `syncline mpi` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn mpi_library() -> PathBuf {
    built("libsyncline_mpi.so")
}

/// The library that `syncline cluster --unmodified` preloads.
///
/// # Panics
/// If it was not built, or its sources have changed since.
pub fn unmodified_library() -> PathBuf {
    built("libsyncline_unmodified.so")
}

/// Makes a new empty folder, which all users may read. It is removed when the returned value is
/// dropped. Its path is short enough for a socket in it.
///
/// # Panics
/// If the folder can't be made.
pub fn scratch() -> tempfile::TempDir {
    let everybody = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().prefix("syncline-").permissions(everybody).tempdir();
    folder.expect("a scratch folder")
}

/// The folder for files that tests keep for later runs.
pub(crate) fn tmp_folder() -> PathBuf {
    let folder = profile_folder().join("conformance");
    fs::create_dir_all(&folder).expect("a folder for the tests");
    folder
}

/// The folder of this crate in the source tree.
pub(crate) fn source_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The environment variable that `./x` sets after it has built everything. If it is set, sources
/// that change during the tests are ignored.
const JUST_BUILT: &str = "SYNCLINE_JUST_BUILT";

/// The path of a built file. The tests don't depend on it by cargo's rules, so cargo does not build
/// it for them.
fn built(name: &str) -> PathBuf {
    let path = beside_tests(name);
    let flag = if cfg!(debug_assertions) { "" } else { " --release" };
    assert!(path.exists(), "{} is missing: run `cargo build{flag}` first", path.display());
    if env::var_os(JUST_BUILT).is_none()
        && let Some(source) = newer_source(&path)
    {
        let (path, source) = (path.display(), source.display());
        panic!("{source} has changed since {path} was built: run `cargo build{flag}` first");
    }
    path
}

/// A source file that has changed since this file was built, by the list of sources that cargo
/// writes next to the file. Returns `None` if no source has changed, or if there is no such list.
fn newer_source(built: &Path) -> Option<PathBuf> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let made = modified(built)?;
    let list = fs::read_to_string(built.with_extension("d")).ok()?;
    let (_, sources) = list.split_once(": ")?;
    // In cargo's list, there is a backslash before a space in a path.
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split_whitespace().map(|path| PathBuf::from(path.replace('\0', " ")));
    sources.find(|source| modified(source).is_some_and(|changed| changed > made))
}

/// The folder `target/<profile>`: tests are run from its subfolder `deps`.
fn profile_folder() -> PathBuf {
    let test = env::current_exe().expect("the path of this test");
    let folder = test.ancestors().find(|a| a.file_name().is_some_and(|n| n == "deps"));
    folder.and_then(Path::parent).expect("cargo runs tests from target/<profile>/deps").to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn builds_older_than_their_sources_are_detected() {
        let folder = scratch();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str, second: u64| {
            fs::write(at(name), text).expect("a file");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            File::open(at(name)).and_then(|file| file.set_modified(time)).expect("a time");
        };
        let path = |name: &str| at(name).to_str().expect("plain characters").to_owned();
        write("libx.so", "", 5);
        assert_eq!(newer_source(&at("libx.so")), None, "without a list");
        let named = path("my lib.rs").replace(' ', "\\ ");
        let list = format!("{}: {} {} {named}\n", path("libx.so"), path("a.rs"), path("gone.rs"));
        write("libx.d", &list, 5);
        write("a.rs", "", 4);
        write("my lib.rs", "", 3);
        assert_eq!(newer_source(&at("libx.so")), None);
        write("my lib.rs", "", 6);
        assert_eq!(newer_source(&at("libx.so")), Some(at("my lib.rs")));
    }
}
