//! `syncline try`: the verdicts on faster, slower and equally fast locks, and what is printed after
//! an interrupt.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use syncline_conformance::{replace_library, syncline};

/// A program whose figure depends on the locks that `syncline try` gives it.
const PROGRAM: &str = "
    case $SYNCLINE_LOCKS in
        '') echo 'figure: 100';;
        gate) echo 'figure: 125';;
        mcs-park) echo 'figure: 80';;
        futex) echo 'figure: 100';;
        *) exit 3;;
    esac";

fn trying(options: &[&str], program: &str) -> Command {
    replace_library();
    let mut command = Command::new(syncline());
    command.arg("try").args(options).args(["--", "/bin/sh", "-c", program]);
    command
}

#[test]
fn each_lock_gets_its_verdict() {
    let options = ["--lock", "gate,mcs,futex,ttas", "-n", "8", "--metric", r"figure: (\d+)"];
    let output = trying(&options, PROGRAM).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let line = |name: &str| {
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert!(line("gate").contains("1.25x (1.25 to 1.25)  faster"), "{text}");
    assert!(line("mcs-park").contains("0.80x (0.80 to 0.80)  slower"), "{text}");
    assert!(line("futex").contains("1.00x (1.00 to 1.00)  no difference"), "{text}");
    assert!(line("ttas-park").contains("ended with status 3"), "{text}");
}

#[test]
fn too_few_runs_are_no_verdict() {
    let options = ["--lock", "gate", "-n", "5", "--metric", r"figure: (\d+)"];
    let output = trying(&options, PROGRAM).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("too few runs to say") && text.contains("--runs 6"), "{text}");
}

#[test]
fn an_interrupt_keeps_the_measured_results() {
    let options = ["--lock", "gate", "-n", "10000"];
    let mut child = trying(&options, "sleep 0.05").stdout(Stdio::piped()).spawn().expect("it runs");
    sleep(Duration::from_secs(4));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("an interrupt");
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("a text");
    assert!(child.wait().expect("its status").success());
    assert!(text.contains("Medians of ") && text.contains("gate"), "{text}");
}

#[test]
fn a_program_that_fails_is_an_error() {
    let output = trying(&["--lock", "gate"], "echo why; exit 4").output().expect("it runs");
    assert_eq!(output.status.code(), Some(125));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("status 4") && errors.contains("why"), "{errors}");
}
