//! Compiles programs under test. A program is compiled again only if its text, a header in
//! `programs/`, or the compiler's command line has changed.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::limits::run_limited;
use crate::paths::{source_folder, tmp_folder};

const LONGEST_COMPILATION: Duration = Duration::from_secs(120);

/// A compiled executable or shared library.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// Compiles `programs/NAME` with the compiler for its extension: `c`, `cpp` or `rs`.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn compile(name: &str) -> Program {
        Program::compile_with(name, &[])
    }

    /// Like [`Program::compile`], with further flags after the source file.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn compile_with(name: &str, flags: &[&str]) -> Program {
        let source = source_folder().join("programs").join(name);
        let mut compiler = compiler(&source);
        compiler.arg(&source).args(flags);
        let path =
            tmp_folder().join(format!("{}-{:016x}", name.replace(['.', '/'], "-"), key(&compiler)));
        if !path.exists() {
            build(compiler, &path);
        }
        Program { path }
    }

    /// Like [`Program::compile`], but with this compiler, such as an MPI library's `mpicc` or
    /// `mpifort`.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn compile_by(compiler: &str, name: &str) -> Program {
        Program::compile_by_with(compiler, name, &[])
    }

    /// Like [`Program::compile_by`], with further flags after the source file.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn compile_by_with(compiler: &str, name: &str, flags: &[&str]) -> Program {
        let source = source_folder().join("programs").join(name);
        let mut command = Command::new(compiler);
        let is_c = source.extension() == Some("c".as_ref());
        command.args(if is_c { &FOR_C[..] } else { &FOR_FORTRAN });
        command.arg(&source).args(flags).current_dir(source_folder());
        let path =
            tmp_folder().join(format!("{}-{:016x}", name.replace(['.', '/'], "-"), key(&command)));
        if !path.exists() {
            build(command, &path);
        }
        Program { path }
    }

    /// Compiles one source file twice: as a program, and, with `-DLIBRARY`, as a library that calls
    /// functions of the program.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn with_library(name: &str) -> (Program, Program) {
        let library = ["-DLIBRARY", "-shared", "-fPIC"];
        (Program::compile_with(name, &["-rdynamic"]), Program::compile_with(name, &library))
    }

    /// Links an object file, which [`Program::compile_with`] has made with the flag `-c`.
    ///
    /// # Panics
    /// If it does not link.
    pub fn link(object: &Program, flags: &[&str]) -> Program {
        let mut linker = Command::new("cc");
        linker.arg(&object.path).args(flags);
        let path = object.path.with_extension(format!("linked-{:016x}", key(&linker)));
        if !path.exists() {
            build(linker, &path);
        }
        Program { path }
    }

    /// A program that is installed on the system.
    pub fn installed(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into() }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

const FOR_C: [&str; 6] = ["-std=gnu17", "-O2", "-g", "-Wall", "-Werror", "-pthread"];
// There is no `-Werror`, because the MPI libraries' Fortran modules cause warnings, which differ
// between libraries.
const FOR_FORTRAN: [&str; 3] = ["-O2", "-g", "-Wall"];

fn compiler(source: &Path) -> Command {
    let ending = source.extension().and_then(|e| e.to_str());
    let (name, flags): (_, &[&str]) = match ending {
        Some("c") => ("cc", &FOR_C),
        Some("cpp") => ("c++", &["-std=c++20", "-O2", "-g", "-Wall", "-Werror", "-pthread"]),
        Some("rs") => ("rustc", &["--edition=2024", "-O", "-g", "-Dwarnings"]),
        _ => panic!("no compiler for {}", source.display()),
    };
    let mut command = Command::new(name);
    command.args(flags).current_dir(source_folder());
    command
}

/// A number that depends on the command line, on the text of the source, and on all headers in
/// `programs/`.
fn key(compiler: &Command) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{compiler:?}").hash(&mut hasher);
    let source = compiler.get_args().filter_map(|a| fs::read(a).ok());
    source.for_each(|text| text.hash(&mut hasher));
    let all = fs::read_dir(source_folder().join("programs")).expect("programs");
    let all = all.map(|entry| entry.expect("a file").path());
    let mut headers: Vec<_> = all.filter(|path| path.extension() == Some("h".as_ref())).collect();
    headers.sort();
    headers.iter().for_each(|path| fs::read(path).expect("a header").hash(&mut hasher));
    hasher.finish()
}

/// Builds a file under a unique name, and then gives it the name `path` with a hard link, unless
/// another test has already done so. A program that a test is running must not be replaced, because
/// its process would then have deleted files as modules.
fn build(mut compiler: Command, path: &Path) {
    static BUILDS: AtomicU32 = AtomicU32::new(0);
    let number = BUILDS.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("{}-{number}", std::process::id()));
    compiler.arg("-o").arg(&draft);
    let made = run_limited(&mut compiler, LONGEST_COMPILATION);
    assert!(made.status == 0, "{compiler:?}:\n{}", String::from_utf8_lossy(&made.stderr));
    match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{path:?}: {error}"),
        _ => fs::remove_file(&draft).expect("the draft"),
    }
}
