//! Tests of what `record` refuses, with real files. The message must say what is refused and why,
//! the status must be the documented one, and no folder may be left.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Sandbox, errors, library, syncline};

const TRIVIAL: &str = "int main(void) { return 0; }";

/// Runs the command, and checks that it fails with this status and a message with these words.
#[track_caller]
fn refused(sandbox: &Sandbox, command: &mut Command, status: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(status), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
    assert!(!sandbox.path("syncline-recording").exists(), "a folder was left behind");
}

#[track_caller]
fn program_refused(sandbox: &Sandbox, program: &Path, status: i32, words: &[&str]) {
    refused(sandbox, sandbox.record().arg("--").arg(program), status, words);
}

#[test]
fn missing_programs() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("missing");
    program_refused(&sandbox, &missing, 127, &["missing", "No such file"]);
    program_refused(
        &sandbox,
        "no-such-program".as_ref(),
        127,
        &["no-such-program", "PATH", "./app"],
    );
}

#[test]
fn files_that_are_not_executable() {
    let sandbox = Sandbox::new();
    let text = sandbox.path("text");
    fs::write(&text, "hello").unwrap();
    program_refused(&sandbox, &text, 126, &["not executable", "chmod +x"]);
    program_refused(&sandbox, &sandbox.path("."), 126, &["it is a folder"]);
    let data = sandbox.executable("data", b"\0\x01\x02");
    program_refused(&sandbox, &data, 126, &["neither an ELF executable nor a script"]);
    let damaged = sandbox.executable("damaged", b"\x7fELF");
    program_refused(&sandbox, &damaged, 126, &["damaged executable"]);
}

#[test]
fn static_programs() {
    let sandbox = Sandbox::new();
    let program = sandbox.program("static", TRIVIAL, &["-static"]);
    program_refused(&sandbox, &program, 126, &["statically linked", "without -static"]);
    let program = sandbox.program("static-pie", TRIVIAL, &["-static-pie"]);
    program_refused(&sandbox, &program, 126, &["statically linked"]);

    let mark = r#"__attribute__((section(".go.buildinfo"), used)) char mark[16] = "go";"#;
    let go = sandbox.program("go", &format!("{mark}\n{TRIVIAL}"), &["-static"]);
    program_refused(&sandbox, &go, 126, &["static Go program", "SetMutexProfileFraction"]);
}

#[test]
fn programs_of_other_systems() {
    let sandbox = Sandbox::new();
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let program = sandbox.program("musl", TRIVIAL, &[musl]);
    program_refused(&sandbox, &program, 126, &["musl", "glibc"]);

    let absent = "-Wl,--dynamic-linker=/absent/ld.so";
    let program = sandbox.program("absent", TRIVIAL, &[absent]);
    program_refused(&sandbox, &program, 127, &["its loader /absent/ld.so is missing"]);

    // In the ELF header, byte 4 is the class, and byte 18 is the lower byte of the machine's
    // number.
    let native = fs::read(sandbox.program("native", TRIVIAL, &[])).unwrap();
    let changed = |place: usize, value: u8| {
        let mut bytes = native.clone();
        bytes[place] = value;
        sandbox.executable("changed", &bytes)
    };
    program_refused(&sandbox, &changed(4, 1), 126, &["32-bit"]);
    program_refused(&sandbox, &changed(18, 183), 126, &["64-bit ARM"]);
    program_refused(&sandbox, &changed(18, 250), 126, &["ELF machine 250"]);
}

/// Compiles a program with a sanitizer. Returns `None` if that sanitizer is not installed.
fn sanitized(sandbox: &Sandbox, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = sandbox.path("sanitized.c");
    fs::write(&source, TRIVIAL).unwrap();
    let program = sandbox.path(name);
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&program).arg(&source).args(flags);
    let made = compiler.output().unwrap();
    if !made.status.success() {
        eprintln!("skipped, {flags:?} is not installed: {}", errors(&made));
        return None;
    }
    Some(program)
}

#[test]
fn programs_with_a_sanitizer() {
    let sandbox = Sandbox::new();
    for (sanitizer, runtime, name) in [
        ("-fsanitize=thread", "-static-libtsan", "ThreadSanitizer"),
        ("-fsanitize=address", "-static-libasan", "AddressSanitizer"),
    ] {
        for flags in [&[sanitizer][..], &[sanitizer, runtime]] {
            let Some(program) = sanitized(&sandbox, "sanitized", flags) else { continue };
            let hint = format!("build it without {sanitizer}");
            program_refused(&sandbox, &program, 126, &[name, &hint]);
            for command in [&["exec", "--lock", "gate"][..], &["inspect"], &["try"]] {
                let mut command_line = syncline();
                command_line.args(command).arg(&program).current_dir(sandbox.path("."));
                refused(&sandbox, &mut command_line, 126, &[name, &hint]);
            }
        }
    }
}

/// This test needs no installed sanitizer. For each sanitizer it compiles programs that define the
/// sanitizer's first function, exported or not, and programs that need a library with the
/// sanitizer's name.
#[test]
fn each_sanitizer_is_known_by_its_function_or_its_library() {
    let sandbox = Sandbox::new();
    for (name, short, option, libraries) in [
        ("MemorySanitizer", "msan", "memory", &["libclang_rt.msan.so"][..]),
        ("HWAddressSanitizer", "hwasan", "hwaddress", &["libclang_rt.hwasan.so", "libhwasan.so.0"]),
        ("ThreadSanitizer", "tsan", "thread", &["libclang_rt.tsan.so", "libtsan.so.2"]),
        ("AddressSanitizer", "asan", "address", &["libclang_rt.asan.so", "libasan.so.8"]),
    ] {
        let hint = format!("build it without -fsanitize={option}");
        let defines = format!("void __{short}_init(void) {{}}\n{TRIVIAL}");
        // With the first flags, the function's name is only in the table of exported symbols. With
        // the second flags, it is only in the full symbol table.
        for flags in [&["-rdynamic", "-s"][..], &[]] {
            let program = sandbox.program(short, &defines, flags);
            program_refused(&sandbox, &program, 126, &[&format!(" {name}"), &hint]);
        }
        for library in libraries {
            let stub = "int stub(void) { return 0; }";
            let soname = format!("-Wl,-soname,{library}");
            let made = sandbox.program(library, stub, &["-shared", "-fPIC", &soname]);
            let uses = "int stub(void);\nint main(void) { return stub(); }";
            let program = sandbox.program("needs", uses, &[made.to_str().unwrap()]);
            program_refused(&sandbox, &program, 126, &[&format!(" {name}"), &hint]);
        }
    }
}

#[test]
fn sanitizers_that_allow_preloading() {
    let sandbox = Sandbox::new();
    for flags in [&["-fsanitize=undefined"][..], &["-fsanitize=leak"]] {
        let Some(program) = sanitized(&sandbox, "bearing", flags) else { continue };
        let output = sandbox.record().arg(&program).output().unwrap();
        assert!(output.status.success(), "{flags:?}: {}", errors(&output));
    }
    if let Some(program) = sanitized(&sandbox, "leak", &["-fsanitize=leak"]) {
        let output = syncline().arg("inspect").arg(&program).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{}", errors(&output));
        assert!(errors(&output).contains("LeakSanitizer"), "{}", errors(&output));
    }
    // A program that only checks whether a sanitizer's runtime is loaded was not built with the
    // sanitizer.
    let asks = "void __tsan_init(void) __attribute__((weak));\n\
                int main(void) { return __tsan_init != 0; }";
    let program = sandbox.program("asks", asks, &[]);
    let output = sandbox.record().arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn scripts_are_judged_by_their_interpreter() {
    let sandbox = Sandbox::new();
    let program = sandbox.program("static", TRIVIAL, &["-static"]);
    let line = format!("#!{}\n", program.display());
    let script = sandbox.executable("script", line.as_bytes());
    program_refused(&sandbox, &script, 126, &["static", "statically linked"]);
    let script = sandbox.executable("lost", b"#!/absent/interpreter -x\n");
    program_refused(&sandbox, &script, 127, &["/absent/interpreter", "first line of", "lost"]);
    let script = sandbox.executable("lost-env", b"#!/usr/bin/env no-such-program\n");
    program_refused(&sandbox, &script, 127, &["no-such-program", "lost-env"]);
}

/// A program that runs as another user (setuid). If root runs the test, the program is made here;
/// otherwise it is the system's `su`.
fn setuid(sandbox: &Sandbox) -> PathBuf {
    if !nix::unistd::getuid().is_root() {
        return "/usr/bin/su".into();
    }
    let program = sandbox.program("setuid", TRIVIAL, &[]);
    chown(&program, Some(65534), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    program
}

#[test]
fn setuid_programs() {
    let sandbox = Sandbox::new();
    program_refused(&sandbox, &setuid(&sandbox), 126, &["runs as another user (setuid)", "copy"]);
}

#[test]
fn a_setuid_program_of_the_same_user_is_recorded() {
    let sandbox = Sandbox::new();
    let program = sandbox.program("own", TRIVIAL, &[]);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let output = sandbox.record().arg(program).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn a_missing_library() {
    let sandbox = Sandbox::new();
    let mut record = sandbox.record();
    record.env("SYNCLINE_PRELOAD", "/absent/library.so").arg("true");
    refused(&sandbox, &mut record, 125, &["/absent/library.so", "./x build"]);
}

#[test]
fn a_library_path_with_spaces_is_refused() {
    let sandbox = Sandbox::new();
    let spaced = sandbox.path("a library.so");
    fs::copy(library(), &spaced).unwrap();
    let mut record = sandbox.record();
    record.env("SYNCLINE_PRELOAD", spaced).arg("true");
    refused(&sandbox, &mut record, 125, &["can't preload", "no spaces"]);
}

#[test]
fn folders_that_cannot_be_used() {
    let sandbox = Sandbox::new();
    let to = |folder: &Path, words: &[&str]| {
        let mut record = sandbox.record();
        refused(&sandbox, record.arg("-o").arg(folder).arg("true"), 125, words);
    };
    to("/proc/here".as_ref(), &["can't create /proc/here", "-o"]);
    to(&sandbox.path("no/such/parent"), &["can't create", "No such file"]);

    let file = sandbox.path("file");
    fs::write(&file, "precious").unwrap();
    to(&file, &["something other than a recording", "left alone"]);
    assert_eq!(fs::read(&file).unwrap(), b"precious");

    let folder = sandbox.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("precious"), "").unwrap();
    to(&folder, &["something other than a recording", "left alone"]);
    assert!(folder.join("precious").exists());

    let dangling = sandbox.path("dangling");
    std::os::unix::fs::symlink("/absent", &dangling).unwrap();
    to(&dangling, &["something other than a recording"]);
}

#[test]
fn a_disk_without_room() {
    // A file system with only a few pages, in its own mount namespace. The test is skipped if it
    // may not make one.
    let sandbox = Sandbox::new();
    let small = sandbox.path("small");
    fs::create_dir(&small).unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$1\" && exec \"$2\" record -o \"$1/r\" true";
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    unshare.arg(&small).arg(env!("CARGO_BIN_EXE_syncline")).env("SYNCLINE_PRELOAD", library());
    let output = unshare.output().unwrap();
    let errors = errors(&output);
    if errors.contains("unshare") || errors.contains("mount") {
        eprintln!("skipped, no file system can be mounted here: {errors}");
        return;
    }
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("64 KiB are free") && errors.contains("another disk"), "{errors}");
}

#[test]
fn sizes_that_are_too_small() {
    let sandbox = Sandbox::new();
    let mut record = sandbox.record();
    refused(&sandbox, record.args(["--max-size", "1M", "true"]), 125, &["--max-size", "16 MiB"]);

    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 100; exec \"$0\" record true"]);
    limited.arg(env!("CARGO_BIN_EXE_syncline")).env("SYNCLINE_PRELOAD", library());
    refused(&sandbox, limited.current_dir(sandbox.path(".")), 125, &["ulimit -f"]);
}

#[test]
fn running_processes() {
    let sandbox = Sandbox::new();
    let words = ["can't attach", "syncline record -p PID", "syncline top -p PID"];
    refused(&sandbox, sandbox.record().args(["-p", "1", "true"]), 2, &["--pid"]);
    let mut inspect = syncline();
    refused(&sandbox, inspect.args(["inspect", "--pid", "1"]), 2, &words);
    let mut top = syncline();
    let top = top.args(["top", "1"]).current_dir(sandbox.path("."));
    refused(&sandbox, top, 2, &["no such recording", "syncline top -p 1"]);
    for arguments in [&["top", "-p", "4194305"][..], &["record", "-p", "4194305"]] {
        let mut command = syncline();
        command.env("SYNCLINE_PRELOAD", library()).current_dir(sandbox.path("."));
        refused(&sandbox, command.args(arguments), 127, &["no process 4194305", "hint: `ps -e`"]);
    }
}

#[test]
fn wrong_command_lines() {
    let sandbox = Sandbox::new();
    refused(&sandbox, &mut sandbox.record(), 2, &["PROGRAM"]);
    refused(&sandbox, sandbox.record().args(["--max-size", "big", "true"]), 2, &["512M"]);
    refused(&sandbox, syncline().arg("no-such-command"), 2, &["no-such-command"]);
}
