//! `syncline cluster --hosts`. All hosts are this machine, but the ranks of different hosts share no
//! memory. A script takes the place of the remote shell.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;
use syncline_dsm::program;

use super::common::{Sandbox, errors, syncline};
use super::{FILE, SCENE};

/// Scenes with this prefix are for ranks on several hosts.
pub const SEVERAL: &str = "hosts-";
/// A death is noticed, and everything has ended, within a second; on a busy machine in less than this
/// time. Without that, the ranks would take [`LONG`].
const SOON: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(60);

/// Plays a scene in a rank's process.
pub fn play(scene: &str) {
    let program = program::start(1 << 20).expect("shared memory");
    if program.rank() == 2 {
        match scene {
            "killed" => raise(Signal::SIGKILL).expect("a signal"),
            "agent" => {
                let agent = Pid::parent();
                kill(agent, Signal::SIGKILL).expect("it is there");
            }
            "wait" => fs::write(std::env::var_os(FILE).expect("a name"), "").expect("a file"),
            scene => panic!("there is no scene {scene}"),
        }
    }
    // Rank 2 never comes to this barrier.
    if program.rank() == 2 {
        sleep(LONG);
    }
    program.threads.barrier();
    program.finish();
}

/// Two hosts: `localhost`, which needs no remote shell, and `other`.
struct Hosts(Sandbox);

impl Hosts {
    fn new(shell: &str) -> Hosts {
        let sandbox = Sandbox::new();
        fs::write(sandbox.path("hosts"), "# two\nlocalhost slots=2\nother\n").unwrap();
        sandbox.executable("rsh", shell.as_bytes());
        Hosts(sandbox)
    }

    /// The command that starts three ranks, the last one on `other`.
    fn command(&self) -> Command {
        let mut command = syncline();
        command.args(["cluster", "-n", "3", "-m", "4M", "--hosts"]).arg(self.0.path("hosts"));
        command.arg("--rsh").arg(self.0.path("rsh")).arg("--");
        command
    }

    fn scene(&self, scene: &str) -> Command {
        let mut command = self.command();
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "rank", "--test-threads=1"]);
        command.env(SCENE, format!("{SEVERAL}{scene}")).env(FILE, self.file());
        command
    }

    fn file(&self) -> PathBuf {
        self.0.path("file")
    }
}

/// A remote shell that starts the command on this machine.
const SHELL: &str = "#!/bin/sh\ntest $# = 2 && test $1 = other && exec sh -c \"$2\"\n";

fn script(script: &str) -> Output {
    Hosts::new(SHELL).command().args(["sh", "-c", script]).output().unwrap()
}

#[test]
fn ranks_are_numbered_over_all_hosts_and_their_output_arrives() {
    let output = script("echo $SYNCLINE_RANK; echo of $SYNCLINE_RANK >&2");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let sorted = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&output.stdout), ["0", "1", "2"]);
    assert_eq!(sorted(&output.stderr), ["of 0", "of 1", "of 2"]);
}

/// The remote shell does not pass on the environment, but Syncline does.
#[test]
fn all_ranks_get_the_environment() {
    let shell = "#!/bin/sh\nexec env -i PATH=/usr/bin:/bin TMPDIR=/theirs sh -c \"$2\"\n";
    let hosts = Hosts::new(shell);
    let mut command = hosts.command();
    command.args(["sh", "-c", "test $SYNCLINE_RANK != 2 || echo $PASSED $TMPDIR"]);
    let output = command.env("PASSED", "yes").env("TMPDIR", "/ours").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "yes /theirs\n", "{}", errors(&output));
}

#[test]
fn rank_0_gets_the_standard_input_and_all_ranks_the_folder() {
    let hosts = Hosts::new(SHELL);
    let mut command = hosts.command();
    let script = "pwd > $SYNCLINE_RANK; cat > input.$SYNCLINE_RANK";
    command.args(["sh", "-c", script]).current_dir(hosts.0.path("."));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // More than the buffers of all pipes on the way.
    let text = "a line\n".repeat(100_000);
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let read = |name: &str| fs::read_to_string(hosts.0.path(name)).unwrap();
    assert!(read("input.0") == text, "the input of rank 0 is another");
    assert_eq!((read("input.1"), read("input.2")), (String::new(), String::new()));
    assert_eq!((read("0"), read("0")), (read("1"), read("2")));
}

#[test]
fn the_exit_status_is_that_of_the_rank_that_failed() {
    let output = script("test $SYNCLINE_RANK = 2 && exit 9; exec sleep 60");
    assert_eq!(output.status.code(), Some(9), "{}", errors(&output));
    let output = script("test $SYNCLINE_RANK = 2 && kill -9 $$; exec sleep 60");
    assert_eq!(output.status.code(), Some(3));
    let said = "syncline: rank 2 on other was ended by SIGKILL before syncline_dsm_init; all other \
                ranks were ended\n";
    assert_eq!(errors(&output), said);
}

#[test]
fn a_rank_that_dies_on_another_host_ends_all() {
    let start = Instant::now();
    let output = Hosts::new(SHELL).scene("killed").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let said = "rank 2 on other was ended by SIGKILL before syncline_dsm_finish; ";
    assert!(errors(&output).contains(said), "{}", errors(&output));
    assert!(start.elapsed() < SOON);
}

#[test]
fn a_host_that_is_lost_ends_all() {
    let start = Instant::now();
    let output = Hosts::new(SHELL).scene("agent").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    // The ranks of the other host may have noticed it first.
    let said = ["the connection to other is lost", "shared memory is lost: rank 2 is dead"];
    assert!(said.iter().any(|said| errors(&output).contains(said)), "{}", errors(&output));
    assert!(start.elapsed() < SOON);
}

/// Whether a process has this text among its environment variables.
fn has_process_with(text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has =
        |variables: Vec<u8>| variables.windows(text.len()).any(|part| part == text.as_bytes());
    processes
        .map(|process| process.path().join("environ"))
        .any(|file| fs::read(file).is_ok_and(has))
}

#[test]
fn no_process_is_left_when_the_command_is_killed() {
    let hosts = Hosts::new(SHELL);
    let mark = format!("{FILE}={}", hosts.file().display());
    let mut child = hosts.scene("wait").stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !hosts.file().exists() {
        assert!(start.elapsed() < LONG, "the ranks do not start");
        sleep(Duration::from_millis(5));
    }
    assert!(has_process_with(&mark));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let start = Instant::now();
    while has_process_with(&mark) {
        assert!(start.elapsed() < SOON, "a process is left");
        sleep(Duration::from_millis(5));
    }
}

/// The status and the message, if the remote shell is this script.
fn refused(shell: &str, program: &[&str]) -> (Option<i32>, String) {
    let output = Hosts::new(shell).command().args(program).output().unwrap();
    (output.status.code(), errors(&output))
}

#[test]
fn a_host_without_syncline_is_named() {
    let shell = "#!/bin/sh\nexec sh -c 'exec /no/such/syncline cluster-agent'\n";
    let (status, said) = refused(shell, &["true"]);
    assert_eq!(status, Some(125), "{said}");
    let expected = "syncline: no agent could be started on other: exit status: 127\n";
    assert!(said.contains(expected) && said.contains("under the same path"), "{said}");
}

#[test]
fn lines_that_the_remote_shell_prints_first_are_no_error() {
    let shell = "#!/bin/sh\necho Welcome to $1; exec sh -c \"$2\"\n";
    let (status, said) = refused(shell, &["true"]);
    assert_eq!((status, said.as_str()), (Some(0), "Welcome to other\n"));
}

#[test]
fn a_host_without_the_folder_is_named() {
    let shell = "#!/bin/sh\nrmdir \"$PWD\"; exec sh -c \"$2\"\n";
    let hosts = Hosts::new(shell);
    let folder = hosts.0.path("folder");
    fs::create_dir(&folder).unwrap();
    let output = hosts.command().arg("true").current_dir(&folder).output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("can't go to the folder") && said.contains("folder: No such"), "{said}");
}

#[test]
fn a_program_that_a_host_does_not_have_is_the_reason() {
    let shell = "#!/bin/sh\nmkdir elsewhere && mv program elsewhere; exec sh -c \"$2\"\n";
    let hosts = Hosts::new(shell);
    hosts.0.executable("program", b"#!/bin/sh\nexec sleep 60\n");
    let output = hosts.command().arg("./program").current_dir(hosts.0.path(".")).output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("a rank can't be started"), "{said}");
}

#[test]
fn too_little_memory_is_said_with_the_host() {
    let hosts = Hosts::new(SHELL);
    let mut command = syncline();
    command.args(["cluster", "-n", "2", "-m", "4096G", "--hosts"]).arg(hosts.0.path("hosts"));
    let output = command.arg("--rsh").arg(hosts.0.path("rsh")).arg("true").output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("syncline: on localhost: ") && said.contains("--memory"), "{said}");
}

#[test]
fn a_wrong_hosts_file_or_remote_shell_is_refused() {
    let hosts = Hosts::new(SHELL);
    fs::write(hosts.0.path("hosts"), "one\ntwo cpus=3\n").unwrap();
    let output = hosts.command().arg("true").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(
        errors(&output).contains("hosts: line 2: unknown word `cpus=3`"),
        "{}",
        errors(&output)
    );
    fs::remove_file(hosts.0.path("hosts")).unwrap();
    let output = hosts.command().arg("true").output().unwrap();
    assert!(errors(&output).contains("No such file"), "{}", errors(&output));
    for (rsh, why) in
        [("/no/such/shell", "can't start /no/such/shell for other"), ("'", "--rsh: `'`")]
    {
        fs::write(hosts.0.path("hosts"), "other").unwrap();
        let mut command = syncline();
        command.args(["cluster", "-n", "1", "--hosts"]).arg(hosts.0.path("hosts"));
        let output = command.args(["--rsh", rsh, "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{}", errors(&output));
        assert!(errors(&output).contains(why), "{}", errors(&output));
    }
}

#[test]
fn an_agent_ends_without_an_order() {
    for (sent, said) in [("", ""), ("12345678, which is too long", "can't be read")] {
        let mut command = syncline();
        command.arg("cluster-agent").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(errors(&output).contains(said) && said.is_empty() == output.stderr.is_empty());
        assert!(output.stdout.starts_with(b"syncline-agent 1 "));
    }
}
