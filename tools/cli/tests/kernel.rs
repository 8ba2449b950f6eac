//! Tests of what `syncline kernel` says when a kernel can't be run. The emulator is a shell script,
//! so QEMU is not needed. Tests with real kernels are in syncline-conformance.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Sandbox, errors, syncline};

/// The command `syncline kernel` in the sandbox's folder. In place of QEMU it runs this shell
/// script.
fn kernel(sandbox: &Sandbox, emulator: &str) -> Command {
    let script = format!("#!/bin/sh\n{emulator}\n");
    sandbox.executable("qemu-system-x86_64", script.as_bytes());
    let mut command = syncline();
    command.arg("kernel").arg("--kernel").arg(image(sandbox)).current_dir(sandbox.path("."));
    let path = format!("{}:/usr/bin:/bin", sandbox.path(".").display());
    command.env("PATH", path).env("XDG_CACHE_HOME", sandbox.path("cache"));
    // The command only checks that these files exist.
    command.env("SYNCLINE_KERNEL_INIT", "/bin/true").env("SYNCLINE_KERNEL_PLUGIN", "/bin/true");
    command
}

/// A file that looks like a kernel: it has the signature and version of the boot protocol, and the
/// flag for 64 bits.
fn image(sandbox: &Sandbox) -> PathBuf {
    let mut bytes = vec![0; 0x400];
    bytes[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    bytes[0x236] = 1;
    let path = sandbox.path("vmlinuz");
    fs::write(&path, bytes).unwrap();
    path
}

/// Checks that the command fails with status 1 and a message with these words, and leaves no
/// folder.
#[track_caller]
fn fails(sandbox: &Sandbox, command: &mut Command, words: &[&str]) {
    let output = command.output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
    assert!(!sandbox.path("syncline-kernel").exists(), "a folder was left behind");
    let kept = fs::read_dir(sandbox.path("cache/syncline/kernels"));
    assert!(kept.is_err() || kept.is_ok_and(|mut kept| kept.next().is_none()), "it was kept");
}

#[test]
fn without_an_emulator_the_error_says_what_to_install() {
    let sandbox = Sandbox::new();
    let mut command = kernel(&sandbox, "");
    fs::remove_file(sandbox.path("qemu-system-x86_64")).unwrap();
    command.env("PATH", sandbox.path("."));
    fails(&sandbox, &mut command, &["there is no qemu-system-x86_64", "./x setup --kernel"]);
}

#[test]
fn an_emulator_without_plugins_is_recognised() {
    let sandbox = Sandbox::new();
    let emulator = "echo 'qemu-system-x86_64: -plugin file=x: invalid option' >&2; exit 1";
    fails(&sandbox, &mut kernel(&sandbox, emulator), &["built without plugins"]);
}

#[test]
fn a_kernel_that_panics_shows_its_last_lines() {
    let sandbox = Sandbox::new();
    let emulator = "for i in $(seq 1 30); do echo \"line $i\"; done
        echo 'Kernel panic - not syncing: Attempted to kill init!'";
    let words = ["panicked", "line 12\n", "line 30\n", "Attempted to kill init"];
    fails(&sandbox, &mut kernel(&sandbox, emulator), &words);
    let output = kernel(&sandbox, emulator).output().unwrap();
    assert!(!errors(&output).contains("line 11\n"), "more than the last 20 lines");
}

#[test]
fn a_kernel_without_types_or_symbols_says_which_option_it_lacks() {
    let sandbox = Sandbox::new();
    let emulator = "echo 'SYNCLINE: failed: /sys/kernel/btf/vmlinux: No such file or directory'";
    fails(&sandbox, &mut kernel(&sandbox, emulator), &["CONFIG_DEBUG_INFO_BTF"]);
    // The guest ends without an error, but has passed on no symbols.
    fails(&sandbox, &mut kernel(&sandbox, "echo 'SYNCLINE: done'"), &["CONFIG_KALLSYMS"]);
}

#[test]
fn an_emulator_that_ends_or_hangs_is_reported() {
    let sandbox = Sandbox::new();
    fails(&sandbox, &mut kernel(&sandbox, "exit 0"), &["ended before the kernel said anything"]);
    let mut hangs = kernel(&sandbox, "echo booting; exec sleep 1000");
    fails(&sandbox, hangs.args(["--timeout", "1s"]), &["did not end within 1 second", "booting"]);
}

#[test]
fn ending_the_command_ends_the_emulator() {
    let sandbox = Sandbox::new();
    let started = sandbox.path("started");
    let emulator = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", started.display());
    let mut command = kernel(&sandbox, &emulator);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !started.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let kill = |signal: &str, process: &str| {
        Command::new("kill")
            .args([signal, process])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    assert!(kill("-INT", &child.id().to_string()));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("ended before its load had finished"), "{}", errors(&output));
    assert!(!sandbox.path("syncline-kernel").exists(), "a folder was left behind");
    assert!(!kill("-0", fs::read_to_string(started).unwrap().trim()), "the emulator still runs");
}

#[test]
fn invalid_kernels_loads_and_recordings_are_refused() {
    let sandbox = Sandbox::new();
    let with = |arguments: &[&str]| {
        let mut command = kernel(&sandbox, "exit 0");
        command.args(arguments);
        command
    };
    let text = sandbox.path("text");
    fs::write(&text, "hello").unwrap();
    fails(&sandbox, &mut with(&["--files", "/nowhere"]), &["/nowhere", "not a folder"]);
    let many = with(&["--memory", "9000000G"]).output().unwrap();
    assert_eq!(many.status.code(), Some(2), "{}", errors(&many));
    fails(&sandbox, &mut with(&["--memory", "1000000G"]), &["MiB are free", "--memory"]);
    for (arguments, word) in [
        (["--load", "nothing"], "the path of a script"),
        (["--cpus", "1"], "use 2 processors or more"),
        (["--memory", "1M"], "256M"),
    ] {
        let output = with(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains(word), "{}", errors(&output));
    }
    for (kernel, word) in [("/etc/passwd", "not an image"), ("/nowhere.deb", "can't unpack")] {
        let mut command = syncline();
        command.args(["kernel", "--kernel", kernel]).current_dir(sandbox.path("."));
        command.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path(".").display()));
        command.env("XDG_CACHE_HOME", sandbox.path("cache"));
        command.env("SYNCLINE_KERNEL_INIT", "/bin/true");
        command.env("SYNCLINE_KERNEL_PLUGIN", "/bin/true");
        fails(&sandbox, &mut command, &[word]);
    }
    let mut read = syncline();
    read.args(["kernel", "--read"]).arg(sandbox.path("."));
    fails(&sandbox, &mut read, &["not a recording of a kernel", "`syncline kernel`"]);
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("mine")).unwrap();
    fs::write(sandbox.path("mine/notes"), "").unwrap();
    let mut command = kernel(&sandbox, "echo 'SYNCLINE: done'");
    fails(&sandbox, command.args(["-o", "mine"]), &["something other than a recording"]);
    assert!(sandbox.path("mine/notes").exists());
}
