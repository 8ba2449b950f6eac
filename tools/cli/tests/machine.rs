//! Tests of `syncline machine` for this machine, for one of its processors and for simulated
//! machines, and of what the command refuses. They don't check the times that are measured on this
//! machine.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use common::{Sandbox, errors, syncline};
use serde_json::Value;
use syncline_sim::Machine;

fn machine(arguments: &[&str]) -> Output {
    syncline().arg("machine").args(arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", errors(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The first processor that this process may use.
fn processor() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split(['-', ',']).next().unwrap().to_owned()
}

#[test]
fn this_machine_is_measured_and_what_is_written_can_be_simulated() {
    let sandbox = Sandbox::new();
    let (json, page) = (sandbox.path("here.json"), sandbox.path("here.html"));
    let files = [json.to_str().unwrap(), page.to_str().unwrap()];
    let table = printed(&machine(&["--quick", "--json", files[0], "--html", files[1]]));
    assert!(table.contains("ACCESSES THAT NEED NO OTHER THREAD"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(fs::read_to_string(&page).unwrap().ends_with("</html>\n"));
    let described = Machine::load(&json).unwrap();
    let again = printed(&machine(&[files[0]]));
    assert!(again.starts_with(&described.description.title), "{again}");
}

#[test]
fn one_processor_has_local_latencies_only() {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &processor(), env!("CARGO_BIN_EXE_syncline")]);
    let output = command.args(["machine", "--quick", "--json", "-"]).output().unwrap();
    let text = printed(&output);
    let described: Value = serde_json::from_str(&text).unwrap();
    let measured = &described["measured"];
    assert_eq!(measured["subject"]["processors"].as_array().unwrap().len(), 1);
    assert_eq!(measured["cells"].as_array().unwrap().len(), 0);
    assert_eq!(measured["local"]["own"].as_array().unwrap().len(), 6);
    let notes = measured["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["kind"] == "one_processor"), "{notes:?}");
    let machine: Machine = text.parse().unwrap();
    assert_eq!(machine.threads(), 1);
}

#[test]
fn a_simulated_machine_by_its_name() {
    let table = printed(&machine(&["opteron"]));
    assert!(table.contains("TWO HOPS"), "{table}");
    let mut owned = table.lines().filter(|line| line.starts_with("  owned"));
    assert!(owned.next_back().unwrap().contains("254 ±0"), "{table}");
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let output = machine(arguments);
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
}

#[test]
fn unknown_machines_are_refused() {
    refused(
        &["no-such-machine"],
        &["`no-such-machine` is neither a machine nor a file", "opteron", "niagara"],
    );
    let sandbox = Sandbox::new();
    let other = sandbox.path("other.json");
    fs::write(&other, "{}").unwrap();
    refused(&[other.to_str().unwrap()], &["other.json", "syncline-machine/1"]);
    refused(&["scc"], &["no caches"]);
}

#[test]
fn a_file_that_can_not_be_written_is_an_error_after_the_table() {
    let output = machine(&["niagara", "--json", "/nonexistent/here.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("can't write /nonexistent/here.json"));
    assert!(String::from_utf8(output.stdout).unwrap().contains("OTHER CORE"));
}

#[test]
fn an_ended_measurement_leaves_no_file() {
    let sandbox = Sandbox::new();
    let json = sandbox.path("here.json");
    let mut child = syncline().arg("machine").arg("--json").arg(&json).spawn().unwrap();
    sleep(Duration::from_millis(150));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(!json.exists());
}
