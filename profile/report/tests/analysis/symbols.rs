//! Names compared with those of binutils: `nm` says where the functions and variables are,
//! `addr2line` to which line each address belongs. The tests compile a program in every form that
//! programs have: with debug information inside, compressed or in a separate file, and stripped.

use std::path::{Path, PathBuf};
use std::process::Command;

use syncline_analysis::model::{Frame, Note, Process, SymbolSource};
use syncline_analysis::{Analysis, Options};
use syncline_code::file::library::Library;
use syncline_recording::Op;
use tempfile::TempDir;

use crate::fixture::{Fixture, SECOND};

const BIAS: u64 = 0x5555_0000_0000;

const C: &str = "\
int shared_counter;
struct { int a; char rest[60]; } table[4];
static inline __attribute__((always_inline)) int inner(int x) {
    return shared_counter += x;
}
__attribute__((noinline)) int outer(int x) {
    int sum = inner(x);
    return sum + table[1].a;
}
int main(void) { return outer(1); }
";

const CPP: &str = "\
#include <mutex>
namespace shop {
template <class T> struct Queue {
    std::mutex lock;
    T last{};
    __attribute__((noinline)) void push(T value) {
        std::lock_guard<std::mutex> guard(lock);
        last = value;
    }
};
}
shop::Queue<long> orders;
int main() { orders.push(1); }
";

/// A compiled program and its folder.
struct Binary {
    folder: TempDir,
    path: PathBuf,
}

impl Binary {
    fn compile(source: &str, compiler: &str, options: &[&str]) -> Binary {
        let folder = TempDir::new().unwrap();
        let name = if compiler == "cc" { "source.c" } else { "source.cpp" };
        std::fs::write(folder.path().join(name), source).unwrap();
        let path = folder.path().join("program");
        let fixed = ["-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id", name, "-o", "program"];
        run(Command::new(compiler).args(fixed).args(options).current_dir(folder.path()));
        Binary { folder, path }
    }

    fn objcopy(&self, arguments: &[&str]) {
        run(Command::new("objcopy").args(arguments).current_dir(self.folder.path()));
    }

    /// The address and the size of a symbol whose demangled name begins with `start`.
    fn symbol(&self, start: &str) -> (u64, u64) {
        let out = run(Command::new("nm").args(["-CS", "--defined-only"]).arg(&self.path));
        let line = out
            .lines()
            .find(|line| line.splitn(4, ' ').nth(3).is_some_and(|name| name.starts_with(start)));
        let line = line.unwrap_or_else(|| panic!("nm knows no {start}"));
        let number = |n| u64::from_str_radix(line.split(' ').nth(n).unwrap(), 16).unwrap();
        (number(0), number(1))
    }

    /// The output of addr2line for an address: function and `file:line`, the innermost first.
    fn truth(&self, address: u64) -> Vec<(String, String)> {
        let mut command = Command::new("addr2line");
        command.args(["-Cfi", "-e"]).arg(&self.path).arg(format!("{address:#x}"));
        let out = run(&mut command);
        let lines: Vec<&str> = out.lines().collect();
        lines.chunks(2).map(|pair| (pair[0].to_owned(), place(pair[1]))).collect()
    }

    fn build_id(&self) -> Vec<u8> {
        let out = run(Command::new("readelf").arg("-n").arg(&self.path));
        let text = out.split("Build ID: ").nth(1).expect("a build-id").split('\n').next().unwrap();
        let byte = |n: usize| u8::from_str_radix(&text[n..n + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    }

    /// A process that took a lock at each of the addresses `calls` of the file. `locks` has the
    /// addresses of variables that are the locks.
    fn process(&self, build_id: &[u8], calls: &[u64], locks: &[u64], dirs: &[PathBuf]) -> Process {
        self.process_of(self.path.to_str().unwrap(), build_id, calls, locks, dirs)
    }

    /// Like `process`, with another path in the recording.
    fn process_of(
        &self,
        path: &str,
        build_id: &[u8],
        calls: &[u64],
        locks: &[u64],
        dirs: &[PathBuf],
    ) -> Process {
        let mut f = Fixture::new(&["program"], 1);
        f.module(path, BIAS..BIAS + 0x10_0000, BIAS, build_id);
        let thread = f.thread("main", 0..SECOND);
        for (n, &call) in calls.iter().enumerate() {
            // A return address is after the call.
            let stack = f.stack(&[BIAS + call + 1]);
            let lock = locks.get(n).map_or(0x10 + n as u64, |lock| BIAS + lock);
            f.row(thread, Op::MutexLock, lock, stack, 1);
        }
        let recording = self.folder.path().join("recording.syncline");
        f.write(&recording);
        let options = Options { debug_dirs: dirs.to_vec(), ..Options::default() };
        Analysis::load(&recording, &options).unwrap().processes.remove(0)
    }
}

fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// `file:line` without folders, and without the text in brackets that addr2line appends.
fn place(text: &str) -> String {
    let text = text.split(" (").next().unwrap();
    text.rsplit('/').next().unwrap().to_owned()
}

/// Compares the frames at every address of a function with those of addr2line.
fn assert_like_addr2line(binary: &Binary, function: &str, dirs: &[PathBuf], truth: &Binary) {
    let (start, size) = truth.symbol(function);
    let calls: Vec<u64> = (start..start + size).collect();
    let process = binary.process(&binary.build_id(), &calls, &[], dirs);
    assert!(!calls.is_empty());
    for (n, &call) in calls.iter().enumerate() {
        let found = |f: &Frame| (f.function.clone(), f.file_line().unwrap_or_default());
        let found: Vec<_> = process.frames_of(n + 1).map(found).collect();
        let mut expected = truth.truth(call);
        // For an inlined function with C linkage, binutils 2.40 names the function around it.
        let innermost = expected[0].0.clone();
        if expected.len() > 1 && expected.last().is_some_and(|outer| outer.0 == innermost) {
            expected[0].0 = found[0].0.clone();
        }
        assert_eq!(found, expected, "at {call:#x}");
    }
    assert_eq!(process.modules[0].symbols, Some(SymbolSource::Debug));
}

#[test]
fn functions_lines_and_inlined_calls_of_c() {
    let binary = Binary::compile(C, "cc", &[]);
    assert_like_addr2line(&binary, "outer", &[], &binary);
    let (start, size) = binary.symbol("outer");
    let any_inlined = (start..start + size).any(|a| binary.truth(a).len() == 2);
    assert!(any_inlined, "the program has no inlined call, and tests nothing");
}

#[test]
fn templates_of_cpp() {
    let binary = Binary::compile(CPP, "c++", &[]);
    assert_like_addr2line(&binary, "shop::Queue", &[], &binary);
}

#[test]
fn the_call_site_of_a_lock_guard_is_the_users_line() {
    let binary = Binary::compile(CPP, "c++", &["-O0"]);
    let (start, size) = binary.symbol("shop::Queue<long>::push");
    let guard = (start..start + size).find(|&a| binary.truth(a)[0].1 == "source.cpp:7").unwrap();
    let inside = binary.symbol("std::mutex::lock()").0;
    let mut f = Fixture::new(&["program"], 1);
    f.module(binary.path.to_str().unwrap(), BIAS..BIAS + 0x10_0000, BIAS, &binary.build_id());
    let thread = f.thread("main", 0..SECOND);
    let stack = f.stack(&[BIAS + inside + 1, BIAS + guard + 1]);
    f.row(thread, Op::MutexLock, 0x10, stack, 1);
    let analysis = f.load();
    let process = &analysis.processes[0];
    assert_eq!(process.frames_of(1).next().unwrap().function, "std::mutex::lock()");
    let place = &process.sites[0].place;
    assert!(place.starts_with("shop::Queue<long>::push(long) at "), "{place}");
    assert!(place.ends_with("/source.cpp:7"), "{place}");
}

#[test]
fn compressed_debug_information() {
    for method in ["zlib", "zstd"] {
        let binary = Binary::compile(C, "cc", &[]);
        binary.objcopy(&[&format!("--compress-debug-sections={method}"), "program"]);
        let headers = run(Command::new("readelf").args(["-St"]).arg(&binary.path));
        assert!(headers.contains("COMPRESSED"), "{method} was not applied");
        assert_like_addr2line(&binary, "outer", &[], &binary);
    }
}

#[test]
fn separate_debug_information_by_build_id() {
    let whole = Binary::compile(C, "cc", &[]);
    let stripped = Binary::compile(C, "cc", &[]);
    let id: String = stripped.build_id().iter().map(|b| format!("{b:02x}")).collect();
    let dirs = stripped.folder.path().join("debug");
    let folder = dirs.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.debug", &id[2..]));
    stripped.objcopy(&["--only-keep-debug", "program", file.to_str().unwrap()]);
    stripped.objcopy(&["--strip-all", "program"]);
    assert_like_addr2line(&stripped, "outer", &[dirs], &whole);
}

#[test]
fn separate_debug_information_by_link() {
    let whole = Binary::compile(C, "cc", &[]);
    let stripped = Binary::compile(C, "cc", &[]);
    stripped.objcopy(&["--only-keep-debug", "program", "program.debug"]);
    stripped.objcopy(&["--strip-all", "--add-gnu-debuglink=program.debug", "program"]);
    assert_like_addr2line(&stripped, "outer", &[], &whole);
}

#[test]
fn global_variables_have_names_and_offsets() {
    let binary = Binary::compile(C, "cc", &[]);
    let (counter, table) = (binary.symbol("shared_counter").0, binary.symbol("table").0);
    let main = binary.symbol("main").0;
    let locks = [counter, table + 64];
    let process = binary.process(&binary.build_id(), &[main, main], &locks, &[]);
    let name = |at: u64| &process.locks.iter().find(|l| l.address == BIAS + at).unwrap().name;
    assert_eq!(name(counter), "shared_counter (program)");
    assert_eq!(name(table + 64), "table+0x40 (program)");
}

#[test]
fn a_stripped_program_falls_back_to_offsets_and_says_so() {
    let binary = Binary::compile(C, "cc", &["-s"]);
    let process = binary.process(&binary.build_id(), &[0x1140], &[], &[]);
    assert_eq!(process.sites[0].place, "program+0x1140");
    let path = binary.path.to_str().unwrap().to_owned();
    let note = Note::NoDebugInformation { path, functions: false };
    assert!(process.notes.contains(&note), "{:?}", process.notes);
}

#[test]
fn exported_functions_survive_stripping() {
    let binary = Binary::compile(C, "cc", &["-rdynamic"]);
    let (outer, _) = binary.symbol("outer");
    binary.objcopy(&["--strip-all", "program"]);
    let process = binary.process(&binary.build_id(), &[outer + 2], &[], &[]);
    assert_eq!(process.sites[0].place, "outer+0x2");
    assert_eq!(process.modules[0].symbols, Some(SymbolSource::Dynamic));
}

#[test]
fn without_debug_information_functions_remain() {
    let binary = Binary::compile(C, "cc", &["-g0"]);
    let (outer, _) = binary.symbol("outer");
    let process = binary.process(&binary.build_id(), &[outer + 2], &[], &[]);
    assert_eq!(process.sites[0].place, "outer+0x2");
    assert_eq!(process.modules[0].symbols, Some(SymbolSource::Symbols));
}

#[test]
fn a_file_with_another_build_id_has_a_note() {
    let binary = Binary::compile(C, "cc", &[]);
    let (outer, _) = binary.symbol("outer");
    let process = binary.process(&[1; 20], &[outer], &[], &[]);
    assert_eq!(process.sites[0].place, format!("program+{outer:#x}"));
    let path = binary.path.to_str().unwrap().to_owned();
    assert!(process.notes.contains(&Note::ChangedModule { path }), "{:?}", process.notes);
}

#[test]
fn a_program_that_was_replaced_by_the_same_build_has_names_and_another_build_none() {
    let binary = Binary::compile(C, "cc", &[]);
    let (outer, _) = binary.symbol("outer");
    // The path that the kernel gives for a program's file after another file was renamed over it.
    let called = format!("{} (deleted)", binary.path.display());
    let process = binary.process_of(&called, &binary.build_id(), &[outer + 2], &[], &[]);
    assert_eq!(process.modules[0].symbols, Some(SymbolSource::Debug));
    assert_eq!(Path::new(&process.modules[0].path), binary.path);
    let process = binary.process_of(&called, &[1; 20], &[outer], &[], &[]);
    let note = process.notes.iter().find(|n| matches!(n, Note::MissingModule { .. }));
    let said = note.expect("a note").to_string();
    assert!(said.contains("program was replaced while it ran: its addresses have no"), "{said}");
    // Without a build-id, nothing shows that a file is the same.
    binary.objcopy(&["--remove-section=.note.gnu.build-id", "program"]);
    let process = binary.process_of(&called, &[], &[outer], &[], &[]);
    assert_eq!(process.modules[0].symbols, Some(SymbolSource::Missing));
}

#[test]
fn a_missing_file_has_a_note() {
    let mut f = Fixture::new(&["program"], 1);
    let path = Path::new("/nowhere/program");
    f.module(path.to_str().unwrap(), BIAS..BIAS + 0x1000, BIAS, &[1; 20]);
    let thread = f.thread("main", 0..SECOND);
    let stack = f.stack(&[BIAS + 0x101]);
    f.row(thread, Op::MutexLock, 0x10, stack, 1);
    let process = &f.load().processes[0];
    assert_eq!(process.sites[0].place, "program+0x100");
    let path = path.to_str().unwrap().to_owned();
    assert!(process.notes.contains(&Note::MissingModule { path }));
}

/// A recording may have thousands of processes of one program.
#[test]
fn a_file_is_read_once_for_all_processes() {
    const PROCESSES: u32 = 5;
    let binary = Binary::compile(C, "cc", &[]);
    let (start, size) = binary.symbol("outer");
    let recording = TempDir::new().unwrap();
    for pid in 1..=PROCESSES {
        let mut f = Fixture::new(&["program"], 1);
        f.header.pid = pid;
        f.module(binary.path.to_str().unwrap(), BIAS..BIAS + 0x10_0000, BIAS, &binary.build_id());
        let thread = f.thread("main", 0..SECOND);
        let stack = f.stack(&[BIAS + start + size]);
        f.row(thread, Op::MutexLock, 0x10, stack, 1);
        f.write(&recording.path().join(format!("{pid}.syncline")));
    }
    let library = Library::new(&[]);
    let analysis =
        Analysis::load_with_library(recording.path(), &Options::default(), &library, &mut |_| {});
    let processes = analysis.unwrap().processes;
    assert_eq!(processes.len(), PROCESSES as usize);
    for process in &processes {
        let frame = &process.frames[process.sites[0].frame.unwrap()];
        assert_eq!(frame.function, "outer");
    }
    assert_eq!((library.opened(), library.looked_up()), (1, 1));
}
