//! Helpers for the tests of the built command: a temporary folder, a C compiler, and a stand-in for
//! the preload library.
//!
//! The stand-in, `library.c`, does only what the command needs from the library: it writes its
//! environment variables to a file, and leaves a process file with a header. So these tests cover
//! the command alone.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use syncline_recording::layout::{
    BYTE_ORDER, HEADER_SIZE, Header, MAGIC, ModuleRecord, Region, StackRecord, ThreadRecord,
    VERSION,
};
use tempfile::TempDir;

/// A temporary folder, which is removed at the end of the test.
pub struct Sandbox(TempDir);

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles a C program in this folder.
    pub fn program(&self, name: &str, code: &str, flags: &[&str]) -> PathBuf {
        let (source, program) = (self.path(&format!("{name}.c")), self.path(name));
        fs::write(&source, code).unwrap();
        compile(&source, &program, flags);
        program
    }

    /// Writes an executable file in this folder.
    pub fn executable(&self, name: &str, content: &[u8]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// The command `syncline record` in this folder, with the stand-in as the library.
    pub fn record(&self) -> Command {
        let mut command = syncline();
        command.arg("record").current_dir(self.0.path());
        command.env("SYNCLINE_PRELOAD", library()).env_remove("LD_PRELOAD");
        command
    }
}

/// The command that is tested.
pub fn syncline() -> Command {
    Command::new(env!("CARGO_BIN_EXE_syncline"))
}

/// Starts a command, and waits until its program has written the line `ready`.
pub fn start(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// The text that a command printed on standard error.
pub fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The path of the stand-in, which is compiled only once.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let header = header_bytes().iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let code = format!(
            "static unsigned char header[] = {{{header}}};\nenum {{ PID = {} }};\n{}",
            offset_of!(Header, pid),
            include_str!("library.c")
        );
        let (source, library) = (folder.path().join("library.c"), folder.path().join("library.so"));
        fs::write(&source, code).unwrap();
        compile(&source, &library, &["-shared", "-fPIC"]);
        (folder, library)
    });
    library
}

/// The length of the stand-in's file after `record` has cut it.
pub const USED: u64 = 8192 + 3 * 64;

/// The beginning of a process file with two thread records that were never used, and nothing else.
fn header_bytes() -> Vec<u8> {
    let region = |record_size: usize, count| Region {
        offset: HEADER_SIZE as u64,
        record_size: record_size as u32,
        capacity: 8,
        count,
        dropped: 0,
    };
    let mut header: Header = bytemuck::Zeroable::zeroed();
    header.magic = MAGIC;
    header.version = VERSION;
    header.byte_order = BYTE_ORDER;
    header.ticks_per_second = 1;
    header.modules = region(size_of::<ModuleRecord>(), 0);
    header.threads = region(size_of::<ThreadRecord>(), 2);
    header.stacks = region(size_of::<StackRecord>(), 0);
    header.arena_offset = 8192;
    header.arena_used = 3;
    header.arena_capacity = 1000;
    bytemuck::bytes_of(&header).to_vec()
}

fn compile(source: &Path, output: &Path, flags: &[&str]) {
    let status = Command::new("cc").args(["-o".as_ref(), output, source]).args(flags).status();
    assert!(status.expect("a C compiler, cc, is installed").success());
}
