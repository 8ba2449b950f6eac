//! Rules for source files: a file is short and finished, and every `unsafe` and every ignored test
//! has its reason.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{crates, root};

const LONGEST_FILE: usize = 500;
/// The number of lines, up to that of an `unsafe`, in which its `SAFETY:` comment may stand.
const COMMENT_REACH: usize = 12;

/// Words of unfinished work, written so that this file does not contain them.
const UNFINISHED: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
];

/// The faults of a file, each with its line.
fn faults(path: &Path, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let is_rust = path.extension().is_some_and(|e| e == "rs");
    let mut fault = |number: usize, what: &str| {
        faults.push(format!("{}:{}: {what}", path.display(), number + 1));
    };
    if lines.len() > LONGEST_FILE {
        fault(lines.len(), "longer than 500 lines");
    }
    for (number, line) in lines.iter().enumerate() {
        for word in UNFINISHED.iter().filter(|w| line.contains(**w)) {
            fault(number, &format!("unfinished: {word}"));
        }
        if is_rust && is_unsafe(line) && !explained(&lines[..=number]) {
            fault(number, "unsafe without a SAFETY comment");
        }
        if is_rust && line.trim() == concat!("#[ig", "nore]") {
            fault(number, "an ignored test without a reason");
        }
    }
    faults
}

/// Whether the line starts an unsafe block or implementation.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let unquoted = code.split('"').step_by(2).collect::<String>();
    ["unsafe {", "unsafe impl"].iter().any(|start| unquoted.contains(start))
}

/// Whether a `SAFETY:` comment is in the last [`COMMENT_REACH`] lines.
fn explained(lines: &[&str]) -> bool {
    lines.iter().rev().take(COMMENT_REACH).any(|line| line.contains("SAFETY:"))
}

/// Adds the files below a folder that people write, as opposed to generated files and data.
pub fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if path.is_dir() {
            sources(&path, into);
        } else if ["rs", "c", "cpp", "h", "sh", "py", "html", "css", "js"].contains(&ending) {
            into.push(path);
        }
    }
}

/// The files of all crates that people write.
pub fn crate_sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in crates() {
        sources(&folder, &mut files);
    }
    files
}

#[test]
fn source_files_are_short_finished_and_explained() {
    let mut files = crate_sources();
    sources(&root().join("workloads"), &mut files);
    let script = root().join("x");
    files.extend(script.exists().then_some(script));
    assert!(files.len() > 40, "only {} files", files.len());
    let check = |path: &PathBuf| faults(path, &fs::read_to_string(path).expect("a text"));
    let faults: Vec<String> = files.iter().flat_map(check).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn each_rule_finds_its_fault() {
    let count = |name: &str, text: &str| faults(Path::new(name), text).len();
    assert_eq!(count("a.rs", "fn f() {}\n"), 0);
    assert_eq!(count("a.c", &"x\n".repeat(LONGEST_FILE + 1)), 1);
    assert_eq!(count("a.c", &format!("// {} later", UNFINISHED[0])), 1);
    assert_eq!(count("a.rs", "let x = unsafe { f() };"), 1);
    assert_eq!(count("a.rs", "// SAFETY: f is fine.\nlet x = unsafe { f() };"), 0);
    assert_eq!(count("a.rs", "let x = \"unsafe { f() }\"; // unsafe {"), 0);
    assert_eq!(count("a.rs", concat!("#[ig", "nore]\nfn f() {}")), 1);
    assert_eq!(count("a.rs", "#[ignore = \"needs two machines\"]\nfn f() {}"), 0);
}
