//! The origin of figures: the commit and, for the cost of recording, the recorder.
//!
//! `./x` passes the commit in `SYNCLINE_COMMIT`, as `git describe --always --dirty` prints it right
//! before `./x` builds what is measured. If the commit were built into the executable, it could be
//! an old one, or each commit would cause a rebuild. A program that is started without `./x` may be
//! of any age, so in that case no commit is printed. The recorder is identified by a script that
//! `./x lint` uses too.

use std::env;
use std::process::Command;

use anyhow::Context;

use crate::accuracy::workloads::repository;

const CHANGED: &str = "-dirty";

/// The commit as `git describe` prints it; `None` if `./x` did not pass it.
pub fn commit() -> Option<String> {
    env::var("SYNCLINE_COMMIT").ok().filter(|commit| !commit.is_empty())
}

/// The line about the commit, which is printed above the tables.
pub fn sentence(commit: Option<&str>) -> String {
    match commit.map(|commit| (commit, commit.strip_suffix(CHANGED))) {
        None => "Commit unknown: not started by ./x in a clone".to_owned(),
        Some((_, Some(commit))) => format!("Commit {commit}, with changes that are not committed"),
        Some((commit, None)) => format!("Commit {commit}"),
    }
}

/// A benchmark's last line, which is a JSON object, with the commit added as a field.
pub fn with_commit(line: &str, commit: Option<&str>) -> anyhow::Result<String> {
    let fields = line.strip_suffix('}').context("the last line is not a JSON object")?;
    Ok(format!("{fields},\"commit\":{}}}", serde_json::to_string(&commit)?))
}

/// The line that identifies the recorder, printed above the tables of its cost.
pub fn recorder() -> anyhow::Result<String> {
    let script = repository().join("lab/bench/recorder.sh");
    let output = Command::new(&script).output().with_context(|| script.display().to_string())?;
    anyhow::ensure!(output.status.success(), "{} failed", script.display());
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_commit_with_uncommitted_changes_is_marked() {
        assert_eq!(sentence(Some("0b2a53d")), "Commit 0b2a53d");
        assert_eq!(
            sentence(Some("0b2a53d-dirty")),
            "Commit 0b2a53d, with changes that are not committed"
        );
        let line = with_commit(r#"{"ratio":1.5}"#, Some("0b2a53d-dirty")).unwrap();
        assert_eq!(line, r#"{"ratio":1.5,"commit":"0b2a53d-dirty"}"#);
        assert_eq!(
            with_commit(r#"{"ratio":1.5}"#, None).unwrap(),
            r#"{"ratio":1.5,"commit":null}"#
        );
    }

    /// Runs the script in a source tree of its own. Checks its output and its warnings.
    #[test]
    fn recorder_identity_changes_with_code_but_not_with_comments() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let script = write("lab/bench/recorder.sh", include_str!("../recorder.sh"));
        let recording = "profile/recording/src";
        for name in ["layout/wait.rs", "layout.rs", "op.rs", "windows.rs", "writer/mod.rs"] {
            write(&format!("{recording}/{name}"), "struct Row;\n");
        }
        write("base/interpose/src/lib.rs", "fn around() {}\n");
        let run = |text: &str, arguments: &[&str]| {
            write("profile/recorder/src/count/mod.rs", text);
            let output = Command::new("bash").arg(&script).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
        };
        let [one, _] = run("fn count() {}\n", &[]);
        assert!(one.starts_with("Recorder ") && one.trim_end().len() == 25, "{one}");
        assert_eq!(run("// Counts.\n\nfn count() {}\n    /// All.\n", &[])[0], one);
        assert_ne!(run("fn count() { 1 }\n", &[])[0], one);

        write("docs/benchmarks.md", &format!("```\n{one}\n```\n"));
        assert_eq!(run("fn count() {}\n", &["check"])[1], "");
        let [_, warning] = run("fn count() { 1 }\n", &["check"]);
        assert!(warning.contains("./x bench record-overhead"), "{warning}");
    }
}
