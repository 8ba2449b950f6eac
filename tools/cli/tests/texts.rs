//! Tests of the man pages, the exit statuses in the help, the completions, and the list of locks.

mod common;

use std::process::Stdio;

use common::syncline;

fn text(arguments: &[&str]) -> String {
    let output = syncline().args(arguments).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_man_page_has_every_command_and_every_status() {
    let page = text(&["man"]);
    for word in [
        "SYNCLINE RECORD",
        "SYNCLINE INSPECT",
        "SYNCLINE WHATIF",
        "SYNCLINE COMPLETIONS",
        "max\\-size",
        "125",
        "126",
        "127",
    ] {
        assert!(page.contains(word), "no {word}");
    }
}

#[test]
fn every_command_has_a_page_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man");
    assert_eq!(text(&["man", "--out", out.to_str().unwrap()]), "");
    let help = text(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let mut names: Vec<String> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| format!("syncline-{}.1", line.split_whitespace().next().unwrap()))
        .filter(|name| name != "syncline-help.1")
        .collect();
    assert!(names.len() > 15, "{names:?}");
    names.push("syncline.1".to_owned());
    names.extend(
        ["atomics", "channels", "locks", "stm", "table"]
            .map(|test| format!("syncline-bench-{test}.1")),
    );
    names.sort();
    let files = std::fs::read_dir(out.join("man1")).unwrap();
    let mut files: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, names);

    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let record = read("man1/syncline-record.1");
    for word in [".TH SYNCLINE-RECORD 1", "max\\-size", "126", "SEE ALSO"] {
        assert!(record.contains(word), "no {word} in {record}");
    }
    for command in names.iter().filter(|name| !name.starts_with("syncline-bench-")) {
        let name = command.strip_suffix(".1").unwrap().replace('-', "\\-");
        assert!(read("man1/syncline.1").contains(&name), "syncline.1 does not name {name}");
    }
    assert!(read("man1/syncline-bench.1").contains("syncline\\-bench\\-stm"));
    assert!(read("man5/syncline-policy.5").contains("build_ids"));

    // The pages can't be written to a folder whose path is a file's.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = syncline().args(["man", "--out"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't create"));
}

/// The help lists the exit statuses that the command has. A command that runs a program ends with
/// the program's status, and a command that reads a recording does not.
#[test]
fn help_has_the_statuses_of_its_command() {
    let statuses = |command: &str| {
        let help = text(&[command, "--help"]);
        let (_, statuses) = help.split_once("Exit status").unwrap_or_else(|| panic!("{command}"));
        let words = statuses.lines().filter_map(|line| line.split_whitespace().next());
        let numbers = words.filter(|word| word.parse::<u8>().is_ok());
        numbers.collect::<Vec<_>>().join(" ")
    };
    for command in ["record", "exec", "mpi"] {
        assert_eq!(statuses(command), "125 126 127 2", "{command}");
    }
    assert_eq!(statuses("inspect"), "125 126 127 1 2");
    assert_eq!(statuses("try"), "0 125 126 127 2");
    for command in ["tune", "whatif"] {
        assert_eq!(statuses(command), "0 125 126 127 1 2", "{command}");
    }
    for command in ["report", "diff", "export", "machine", "study", "bench"] {
        assert_eq!(statuses(command), "0 1 2", "{command}");
    }
    // `top -p` attaches to a process, like `record -p`.
    assert_eq!(statuses("top"), "0 1 125 126 127 2");
    assert!(text(&["--help"]).contains("Exit status of `try`, `tune` and `whatif`"));
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&["completions", shell]).contains("max-size"), "{shell}");
    }
}

#[test]
fn the_documentation_has_the_lock_catalogue() {
    let page = include_str!("../../../docs/locks.md");
    assert!(
        page.contains(&text(&["locks", "--markdown"])),
        "docs/locks.md differs: put in what `syncline locks --markdown` prints"
    );
}

#[test]
fn the_list_of_locks_fits_a_terminal() {
    let list = text(&["locks"]);
    assert!(list.contains("mcs_timed"));
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        syncline().arg("man").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
}
