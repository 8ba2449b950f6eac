//! An installation for all tests, and functions that compile and run programs against it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use syncline::lock::{Entry, catalogue, forms};

/// How a program is linked with the library.
#[derive(Clone, Copy, Debug)]
pub enum Linking {
    Shared,
    Static,
}

/// The time limit of a program, long enough even for a busy machine.
const SECONDS: &str = "300";

pub fn crate_folder() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

/// Makes an empty folder with this name, in place of an old one.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old folder goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The prefix where Syncline is installed. The first call installs it, by `./x install`, from the
/// same target folder as this test.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = scratch("prefix");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let script = crate_folder().join("../../x");
        let mut install = Command::new(script);
        output_of(install.arg("install").arg(&prefix).env("CARGO_TARGET_DIR", target));
        prefix
    })
}

/// The path of a header that has lines for each lock of the catalogue, each form of a lock and each
/// delegation lock, as `c/kinds.h` needs them.
pub fn each_lock() -> &'static Path {
    static HEADER: OnceLock<PathBuf> = OnceLock::new();
    HEADER.get_or_init(|| {
        let mut text = String::new();
        for lock in catalogue() {
            let kind = if lock.shared { "RWLOCK" } else { "LOCK" };
            line(&mut text, kind, lock.name, &lock);
        }
        for form in forms() {
            let lock = catalogue().into_iter().find(|lock| lock.name == form.lock);
            let lock = lock.expect("a form is a lock's");
            let name = format!("\"{}\"", form.name);
            line(&mut text, "NAMED_LOCK", &name, &lock);
            if lock.shared {
                line(&mut text, "NAMED_RWLOCK", &name, &lock);
            }
        }
        syncline::for_each_delegation!(delegation, text);
        let header = scratch("list").join("each_lock.h");
        fs::write(&header, text).expect("a header");
        header
    })
}

macro_rules! delegation {
    ($text:ident $name:ident, $type:ident, $($feature:ident)*) => {
        writeln!($text, "DELEGATION({})", stringify!($name)).expect("a text takes it");
    };
}
use delegation;

fn line(text: &mut String, kind: &str, name: &str, lock: &Entry) {
    let (can_try, timed) = (u8::from(lock.can_try), u8::from(lock.timed));
    writeln!(text, "{kind}({name}, {can_try}, {timed})").expect("a text takes it");
}

/// Compiles a program as a user of pkg-config would, with all warnings as errors.
pub fn compile(source: &Path, headers: &[&Path], linking: Linking) -> PathBuf {
    let name = source.file_stem().expect("a name").to_str().expect("a text");
    let program = scratch(&format!("{name}-{linking:?}")).join(name);
    let is_c = source.extension().is_some_and(|e| e == "c");
    let mut compiler = Command::new(if is_c { "gcc" } else { "g++" });
    compiler.arg(if is_c { "-std=c11" } else { "-std=c++17" });
    // For usleep and clock_gettime.
    compiler.args(["-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread"]);
    compiler.arg(source).arg("-o").arg(&program);
    compiler.args(headers.iter().map(|folder| format!("-I{}", folder.display())));
    compiler.args(flags(linking));
    output_of(&mut compiler);
    program
}

/// The flags that pkg-config prints. For static linking, they name the static library.
fn flags(linking: Linking) -> Vec<String> {
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "syncline"]);
    ask.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    if matches!(linking, Linking::Static) {
        ask.arg("--static");
    }
    let text = output_of(&mut ask);
    let flags = text.split_whitespace();
    flags
        .map(|flag| match (flag, linking) {
            ("-lsyncline", Linking::Static) => "-l:libsyncline.a".to_owned(),
            _ => flag.to_owned(),
        })
        .collect()
}

/// Runs a program with the installed library, and returns what it prints.
pub fn run(program: &Path, arguments: &[&str]) -> String {
    let mut limited = Command::new("timeout");
    limited.arg(SECONDS).arg(program).args(arguments);
    output_of(limited.env("LD_LIBRARY_PATH", prefix().join("lib")))
}

/// Runs a command that must succeed, and returns what it prints.
pub fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}{errors}", output.status);
    text
}
