//! The library's stress tests under ThreadSanitizer, which detects missing orderings even if this
//! processor does not need them. The sanitizer doesn't understand standalone fences. A release
//! build of the library, as tested here, has such fences only in its memories' barriers (in
//! `memory/barrier.rs` and `memory/interface.rs`).
//!
//! The sanitizer needs an unstable compiler flag, which the tests enable by `RUSTC_BOOTSTRAP`. If
//! the compiler lacks the sanitizer's runtime, the tests say so and fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{fs, io};

use tempfile::TempDir;

const FLAGS: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Two threads add to one number: a race that must be found.
const RACE: &str = "
static mut NUMBER: u64 = 0;
fn main() {
    let add = || for _ in 0..1000 {
        // SAFETY: it is not; this is the race.
        unsafe { NUMBER += 1 }
    };
    let other = std::thread::spawn(add);
    add();
    other.join().unwrap();
}";

/// Two threads add under a lock that lets in one thread at a time, but does not order them: all its
/// accesses are Relaxed.
const RELAXED: &str = "
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
static HELD: AtomicBool = AtomicBool::new(false);
static mut NUMBER: u64 = 0;
fn main() {
    let add = || for _ in 0..1000 {
        while HELD.swap(true, Relaxed) { std::thread::yield_now() }
        // SAFETY: one thread at a time is here, but nothing orders them.
        unsafe { NUMBER += 1 }
        HELD.store(false, Relaxed);
    };
    let other = std::thread::spawn(add);
    add();
    other.join().unwrap();
}";

fn report(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{error}")
}

fn run_sanitized(source: &str) -> String {
    let folder = TempDir::new().expect("a scratch folder");
    let (file, program) = (folder.path().join("main.rs"), folder.path().join("main"));
    fs::write(&file, source).expect("a file can be written");
    let compiled = Command::new("rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--edition=2021", "-O", "-Astatic_mut_refs"])
        .args(FLAGS.split(' '))
        .arg("-o")
        .args([&program, &file])
        .output()
        .expect("rustc runs");
    assert!(compiled.status.success(), "{}", report(&compiled));
    report(&Command::new(&program).output().expect("it runs"))
}

#[test]
fn a_race_is_reported() {
    assert!(run_sanitized(RACE).contains("data race"));
}

#[test]
fn a_lock_without_orderings_is_reported() {
    assert!(run_sanitized(RELAXED).contains("data race"));
}

/// The library's tests that need nothing but the library: their names and files.
const TESTS: [(&str, &str); 5] = [
    ("stress", "stress.rs"),
    ("channels", "channels.rs"),
    ("servers", "servers.rs"),
    ("stm", "stm/main.rs"),
    ("lock_table", "lock_table.rs"),
];

/// A package with the tests and the library, and nothing else that would be instrumented. It is
/// built only once.
fn package() -> &'static Path {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitized");
        write_package(&folder).expect("a package is written");
        let built = cargo_test(&folder).arg("--no-run").output().expect("cargo runs");
        assert!(built.status.success(), "{}", report(&built));
        folder
    })
}

fn write_package(folder: &Path) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = |(name, file)| {
        let path = root.join("../syncline/tests").join(file);
        format!("[[test]]\nname = {name:?}\npath = {path:?}\n")
    };
    let manifest = format!(
        "[package]\n\
         name = \"sanitized\"\n\
         edition = \"2024\"\n\
         [dependencies]\n\
         syncline = {{ path = {:?} }}\n\
         [lib]\n\
         path = \"empty.rs\"\n\
         {}\n\
         [workspace]\n",
        root.join("../syncline"),
        TESTS.map(test).concat(),
    );
    // std is not instrumented, so the channel that reports the end of a test to the harness looks
    // racy, and so does the data that the harness passes to a test's thread and frees afterwards.
    // The freeing of an `Arc`'s contents looks racy too, since a fence orders it after other
    // threads' accesses.
    const SUPPRESSIONS: &str = "race:std::sync::mpmc\nrace:test::run_test\nrace:drop_slow\n";
    fs::create_dir_all(folder)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join(SUPPRESSED), SUPPRESSIONS)?;
    fs::write(folder.join("empty.rs"), "")?;
    // With the lock file, the package gets the same versions, which have been downloaded already.
    fs::copy(root.join("../../Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// The file with suppressions.
const SUPPRESSED: &str = "suppressions";

fn cargo_test(package: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(package).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS).args([
        "test",
        "--offline",
        "--release",
        "--target",
        TARGET,
        "--target-dir",
        "target",
    ]);
    command
}

/// Runs one of the library's tests under the sanitizer, and returns its output.
fn sanitized(test: &str) -> String {
    let package = package();
    let suppressions = package.join(SUPPRESSED);
    let output = cargo_test(package)
        .env("TSAN_OPTIONS", format!("halt_on_error=1 suppressions={}", suppressions.display()))
        .args(["--test", test, "--", "--test-threads=1"])
        .output()
        .expect("cargo runs");
    let report = report(&output);
    assert!(output.status.success() && !report.contains("data race"), "{report}");
    report
}

#[test]
fn the_locks_have_no_race() {
    let report = sanitized("stress");
    assert!(report.contains("test mcs ... ok"), "{report}");
}

#[test]
fn transactions_have_no_race() {
    let report = sanitized("stm");
    assert!(report.contains("test together::every_attempt_sees_one_moment ... ok"), "{report}");
}

#[test]
fn channels_have_no_race() {
    let report = sanitized("channels");
    assert!(report.contains("test rings_that_park ... ok"), "{report}");
}

#[test]
fn servers_have_no_race() {
    let report = sanitized("servers");
    assert!(report.contains("test a_panic_comes_back_and_the_server_goes_on ... ok"), "{report}");
}

#[test]
fn tables_with_locks_have_no_race() {
    let report = sanitized("lock_table");
    assert!(report.contains("test sums_are_kept_by_many_threads ... ok"), "{report}");
}
