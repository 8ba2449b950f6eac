//! Tests of `syncline cluster`: exit statuses and messages when ranks fail, on one machine and on
//! several.

#[path = "../common/mod.rs"]
mod common;
mod hosts;

use std::env;
use std::path::Path;
use std::process::Output;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Sandbox, errors, syncline};
use nix::sys::signal::{Signal, raise};
use syncline_dsm::program;

/// The environment variable that says which scene a rank plays.
const SCENE: &str = "SYNCLINE_TEST_SCENE";
/// The environment variable with the path of a file that rank 0 makes at its end.
const FILE: &str = "SYNCLINE_TEST_FILE";

/// Plays the scene in a rank's process, which runs this test program again. In other processes it
/// does nothing.
#[test]
fn rank() {
    let Ok(scene) = env::var(SCENE) else { return };
    let is_first = env::var("SYNCLINE_RANK").is_ok_and(|rank| rank == "0");
    if scene == "absent" && !is_first {
        std::process::exit(0);
    }
    if let Some(scene) = scene.strip_prefix(hosts::SEVERAL) {
        return hosts::play(scene);
    }
    let program = program::start(1 << 20).expect("shared memory");
    if scene == "inside" && !is_first {
        std::process::exit(0);
    }
    program.finish();
    if is_first {
        sleep(Duration::from_millis(500));
        std::fs::write(env::var_os(FILE).expect("a name"), "").expect("a file");
        return;
    }
    match scene.as_str() {
        "failed" => std::process::exit(5),
        "killed" => raise(Signal::SIGKILL).expect("a signal"),
        scene => panic!("there is no scene {scene}"),
    }
}

/// Plays a scene with two ranks.
fn play(scene: &str, file: &Path) -> Output {
    let mut command = syncline();
    command.args(["cluster", "-n", "2", "-m", "4M", "--"]).arg(env::current_exe().unwrap());
    command.args(["--exact", "rank", "--test-threads=1"]);
    command.env(SCENE, scene).env(FILE, file).output().unwrap()
}

#[test]
fn a_failure_after_the_end_of_shared_memory_ends_no_other_rank() {
    let sandbox = Sandbox::new();
    let said_of_killed = "syncline: rank 1 was ended by SIGKILL after syncline_dsm_finish\n";
    for (scene, status, said) in [("failed", 5, ""), ("killed", 3, said_of_killed)] {
        let file = sandbox.path(scene);
        let output = play(scene, &file);
        assert_eq!(output.status.code(), Some(status), "{}", errors(&output));
        assert_eq!(errors(&output), said);
        assert!(file.exists(), "rank 0 did not come to its end");
    }
}

#[test]
fn a_rank_missing_in_shared_memory_ends_the_others() {
    let sandbox = Sandbox::new();
    for (scene, said) in [
        ("absent", "rank 1 ended with status 0 before syncline_dsm_init; "),
        ("inside", "rank 1 ended with status 0 before syncline_dsm_finish; it had requested "),
    ] {
        let file = sandbox.path(scene);
        let output = play(scene, &file);
        assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
        let all = errors(&output);
        assert!(all.contains(said) && all.ends_with("all other ranks were ended\n"), "{all}");
        assert!(!file.exists(), "rank 0 went on");
    }
}

#[test]
fn a_rank_that_is_killed_before_it_joins_is_named() {
    let script = "test $SYNCLINE_RANK = 1 && kill -9 $$; exec sleep 60";
    let output =
        syncline().args(["cluster", "-n", "2", "-m", "1M", "--", "sh", "-c", script]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = "syncline: rank 1 was ended by SIGKILL before syncline_dsm_init; all other ranks \
                were ended\n";
    assert_eq!(errors(&output), said);
}

#[test]
fn the_exit_status_is_that_of_the_ranks() {
    let _sandbox = Sandbox::new();
    for status in [0, 1, 7] {
        let script = format!("exit {status}");
        let output =
            syncline().args(["cluster", "-n", "2", "-m", "1M", "--", "sh", "-c", &script]).output();
        assert_eq!(output.unwrap().status.code(), Some(status));
    }
    let output = syncline().args(["cluster", "-n", "2", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", errors(&output));
}

#[test]
fn a_failed_rank_ends_the_others() {
    let script = "test $SYNCLINE_RANK = 1 && exit 9; exec sleep 60";
    let start = Instant::now();
    let output =
        syncline().args(["cluster", "-n", "3", "-m", "1M", "--", "sh", "-c", script]).output();
    assert_eq!(output.unwrap().status.code(), Some(9));
    assert!(start.elapsed() < Duration::from_secs(30), "the others went on");
}

/// The reason is not a lack of memory, so the message does not advise a smaller `--memory`.
#[test]
fn a_program_that_cannot_be_started_is_said_to_be_the_reason() {
    let sandbox = Sandbox::new();
    let script = sandbox.executable("script", b"#!/no/such/interpreter\n");
    let output = syncline().args(["cluster", "-n", "2", "--"]).arg(&script).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", errors(&output));
    let said = errors(&output);
    assert!(said.contains("a rank can't be started") && !said.contains("--memory"), "{said}");
}
