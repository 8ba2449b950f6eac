//! Paths: of the command and libraries under test, and of folders for what tests make.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The path of a file in the folder where cargo puts the output of this test's profile.
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

/// A new empty folder that all users may read, removed when the value is dropped. Its path is short
/// enough for a socket.
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

/// The variable that `./x` sets after it has built everything. Then sources that change while tests
/// run don't matter.
const JUST_BUILT: &str = "SYNCLINE_JUST_BUILT";

/// The path of a file that is no dependency of the tests, so cargo doesn't build it for them.
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

/// A source that has changed since this file was built, by the list that cargo writes beside the
/// file; `None` if none has, or if there is no such list.
fn newer_source(built: &Path) -> Option<PathBuf> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let made = modified(built)?;
    let list = fs::read_to_string(built.with_extension("d")).ok()?;
    let (_, sources) = list.split_once(": ")?;
    // In the list, a space in a path has a backslash before it.
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split_whitespace().map(|path| PathBuf::from(path.replace('\0', " ")));
    sources.find(|source| modified(source).is_some_and(|changed| changed > made))
}

/// `target/<profile>`: tests run from its folder `deps`.
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
    fn what_is_older_than_its_sources_is_told() {
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
