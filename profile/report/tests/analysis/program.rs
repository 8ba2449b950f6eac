//! Programs that the tests compile, and the addresses to which their calls return.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::fixture::Fixture;

/// The address at which programs are mapped.
pub const BIAS: u64 = 0x5555_0000_0000;

pub struct Program {
    _folder: TempDir,
    pub path: PathBuf,
    /// Lines of the disassembly.
    pub lines: Vec<String>,
    pub build_id: Vec<u8>,
}

impl Program {
    pub fn compile(source: &str, compiler: &str, options: &[&str]) -> Program {
        let folder = TempDir::new().unwrap();
        let name = if compiler == "cc" { "source.c" } else { "source.cpp" };
        std::fs::write(folder.path().join(name), source).unwrap();
        let path = folder.path().join("program");
        let fixed = ["-g", "-pie", "-fPIE", "-pthread", name, "-o", "program"];
        run(Command::new(compiler).args(fixed).args(options).current_dir(folder.path()));
        let lines = run(Command::new("objdump").args(["-dC", "--no-show-raw-insn"]).arg(&path));
        let notes = run(Command::new("readelf").arg("-n").arg(&path));
        let id = notes.split("Build ID: ").nth(1).expect("a build-id").lines().next().unwrap();
        let byte = |n: usize| u8::from_str_radix(&id[n..n + 2], 16).unwrap();
        Program {
            build_id: (0..id.len()).step_by(2).map(byte).collect(),
            lines: lines.lines().map(str::to_owned).collect(),
            _folder: folder,
            path,
        }
    }

    /// The address of the instruction in a line of the disassembly.
    pub fn address(line: &str) -> u64 {
        let text = line.trim().split(':').next().unwrap();
        u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("no instruction: {line}"))
    }

    /// A process of this program, and the stack of the first acquisition in a function. That is the
    /// first call of a function whose name looks like that of a lock.
    pub fn acquires(&self, function: &str) -> (Fixture, u32) {
        let head = format!("<{function}");
        let begins = |line: &String| line.contains(&head) && line.ends_with(">:");
        let begin = self.lines.iter().position(begins);
        let begin = begin.unwrap_or_else(|| panic!("no function {function}"));
        let takes = |line: &str| {
            let callee = line.split('<').skip(1).collect::<Vec<_>>().join("<");
            let parts = ["_lock<", "lock_guard<", "::lock(", "lock@", "wrlock@", "rdlock@"];
            line.contains("call") && parts.iter().any(|part| callee.contains(part))
        };
        let call = begin + self.lines[begin..].iter().position(|line| takes(line)).unwrap();
        let back = Program::address(&self.lines[call + 1]);
        let mut f = Fixture::new(&["program"], 1);
        f.module(self.path.to_str().unwrap(), BIAS..BIAS + 0x10_0000, BIAS, &self.build_id);
        let mut addresses = vec![BIAS + back];
        if !self.lines[call].contains('@') {
            let inner = self.lines[call].split_whitespace().find_map(|word| {
                (word.len() >= 4).then(|| u64::from_str_radix(word, 16).ok()).flatten()
            });
            addresses.insert(0, BIAS + inner.unwrap() + 1);
        }
        let stack = f.stack(&addresses);
        (f, stack)
    }

    /// A process of this program, and the stack of `calls`, the innermost first. Each call is given
    /// as the function that contains it, and the function that it calls.
    pub fn calls(&self, calls: &[(&str, &str)]) -> (Fixture, u32) {
        let mut f = Fixture::new(&["program"], 1);
        f.module(self.path.to_str().unwrap(), BIAS..BIAS + 0x10_0000, BIAS, &self.build_id);
        let addresses: Vec<u64> = calls.iter().map(|call| BIAS + self.back(call)).collect();
        let stack = f.stack(&addresses);
        (f, stack)
    }

    /// The return address, in the file, of the first call of `callee` by `caller`.
    pub fn back(&self, &(caller, callee): &(&str, &str)) -> u64 {
        let head = format!("<{caller}>:");
        let begin = self.lines.iter().position(|line| line.ends_with(&head));
        let body = &self.lines[begin.unwrap_or_else(|| panic!("no function {caller}"))..];
        let name = [format!("<{callee}>"), format!("<{callee}@")];
        let calls =
            |line: &String| line.contains("call") && name.iter().any(|name| line.contains(name));
        let call = body.iter().position(calls).unwrap_or_else(|| panic!("{caller}: {callee}"));
        Program::address(&body[call + 1])
    }
}

pub fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}
