//! Phrases that make a sentence hard to read, and what to write instead. The section "Voice" in
//! `CONTRIBUTING.md` says why; the lists here have what a program can check.
//!
//! Phrases of [`NOWHERE`] must be neither in pages nor in comments and messages. Phrases of
//! [`NOT_IN_PAGES`] must not be in pages. Phrases of [`NOT_IN_COMMENTS`] must not be in comments of
//! the folders that [`MENDED`] lists. First lines of documentation that begin with "The same" say
//! nothing in an index: there are still some, and their number must not grow.

use std::fs;
use std::path::{Path, PathBuf};

use crate::book::prose;
use crate::root;
use crate::sources::{crate_sources, sources};

/// Phrases that must be nowhere: neither in pages nor in comments and messages.
const NOWHERE: [(&str, &str); 26] = [
    ("As of [`", "name it: \"Same requirements as [`f`]\""),
    ("Looked at are", "the subject first: \"Only timed acquisitions are sampled\""),
    ("` tells.", "say what to do: \"Run `...` to find out\""),
    ("The same, for", "say what it is"),
    ("The same, but for", "say what it is"),
    ("come along", "\"are included\", \"are built in\""),
    ("manieth", "\"the how many-th\" has no English word: \"its number\""),
    ("who reads it", "name the reader: \"callers that poll\""),
    ("As for [`", "\"Same requirements as [`f`]\", \"Same errors as [`f`]\""),
    ("/// As [`", "\"Like [`f`], but\""),
    ("Whoever ", "name who: \"The thread that holds the lock\""),
    ("whoever ", "name who: \"the thread that holds the lock\""),
    ("can't be told", "\"is unknown\", \"can't be distinguished\""),
    ("in vain", "\"without success\", \"failed tries\""),
    ("let go of", "\"release\""),
    ("is told so", "say what happens: \"panics\", \"gets an error\""),
    ("Of those, how many", "\"How many of those\""),
    ("for want of", "\"for lack of\""),
    (", which so ", "\"which ... that way\", or two sentences"),
    ("may so be", "say why: \"so ... may be\""),
    ("As said above", "name it: \"The requirements of the trait hold\""),
    ("beyond doubt", "\"certainly\""),
    ("Compared are", "the subject first: \"The exit statuses are compared\""),
    ("played back", "\"replayed\""),
    ("lie evenly", "\"are evenly spaced\""),
    ("held against", "\"compared with\""),
];

/// Phrases that must not be in pages, in addition to those of [`NOWHERE`].
const NOT_IN_PAGES: [(&str, &str); 8] = [
    ("Who ", "name who: \"A thread that\", \"A user who\""),
    ("is told apart", "\"is identified by\""),
    ("are told apart", "\"are identified by\""),
    ("of one's own", "\"of your own\""),
    ("what there is", "name it"),
    ("let go", "\"release\""),
    ("as ever", "\"as always\", or nothing"),
    ("of which below", "a link"),
];

/// Phrases that must not be in comments of the mended folders, in addition to those of
/// [`NOWHERE`].
const NOT_IN_COMMENTS: [(&str, &str); 8] = [
    ("obody", "name it: \"no thread\", \"no rank\", \"no caller\""),
    ("omebody", "name it: \"another thread\", \"a rank\""),
    ("nybody", "name it: \"any thread\", \"any rank\""),
    ("hat came of", "\"the result of\""),
    ("by chance", "\"random\""),
    ("all the same", "\"nevertheless\""),
    ("is told", "say what happens: \"gets\", \"learns\", \"is woken\""),
    ("are told", "say what happens: \"get\", \"learn\", \"are woken\""),
];

/// The folders whose comments have been mended.
const MENDED: [&str; 9] =
    ["base", "cluster", "experiment", "kernel", "lab", "library", "profile", "tools", "workloads"];

/// The most first lines of documentation that may begin with "The same".
const MOST_THE_SAME: usize = 6;

/// The faults in the lines of a text that have one of the phrases.
fn faults(name: &Path, text: &str, phrases: &[(&str, &str)]) -> Vec<String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned()));
    faults_in(name, lines.collect(), phrases)
}

/// The faults in the numbered lines that have one of the phrases.
fn faults_in(name: &Path, lines: Vec<(usize, String)>, phrases: &[(&str, &str)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in lines {
        for (phrase, instead) in phrases.iter().filter(|(phrase, _)| line.contains(phrase)) {
            let at = format!("{}:{number}", name.display());
            faults.push(format!("{at}: \"{}\"; {instead}", phrase.trim()));
        }
    }
    faults
}

/// Whether a line is the first one of an item's documentation, and begins with "The same".
fn says_the_same(before: &str, line: &str) -> bool {
    let is_doc = |line: &str| line.trim_start().starts_with("///");
    is_doc(line) && !is_doc(before) && line.trim_start().starts_with("/// The same")
}

/// The numbered lines of a text that are comments, or begin with one.
fn comments(text: &str) -> Vec<(usize, String)> {
    let is_comment = |line: &str| {
        let line = line.trim_start();
        ["//", "/*", "* "].iter().any(|start| line.starts_with(start))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| is_comment(line));
    lines.map(|(at, line)| (at + 1, line.to_owned())).collect()
}

/// Whether a file is in one of these folders.
fn is_in(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(root().join(folder)))
}

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::from(["README.md", "ARCHITECTURE.md"].map(|name| root().join(name)));
    for folder in ["docs", "docs/internals"] {
        let files = fs::read_dir(root().join(folder)).expect("a folder");
        let paths = files.map(|entry| entry.expect("an entry").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages.sort();
    pages
}

#[test]
fn no_text_uses_a_listed_phrase() {
    let mut found = Vec::new();
    let mut same = 0;
    let mut files = crate_sources();
    sources(&root().join("workloads"), &mut files);
    for path in files.iter().filter(|path| !path.ends_with("tidy/voice.rs")) {
        let text = fs::read_to_string(path).expect("a text");
        found.extend(faults(path, &text, &NOWHERE));
        if is_in(path, &MENDED) {
            found.extend(faults_in(path, comments(&text), &NOT_IN_COMMENTS));
        }
        let lines: Vec<&str> = text.lines().collect();
        same += lines.windows(2).filter(|two| says_the_same(two[0], two[1])).count();
    }
    for path in pages() {
        let text = fs::read_to_string(&path).expect("a page");
        found.extend(faults(&path, &text, &NOWHERE));
        // Output of a program in a page is quoted as the program prints it, so only the prose is
        // checked.
        found.extend(faults_in(&path, prose(&text), &NOT_IN_PAGES));
    }
    assert!(found.is_empty(), "{} phrases:\n{}", found.len(), found.join("\n"));
    assert!(same <= MOST_THE_SAME, "{same} first lines begin with \"The same\"");
}

#[test]
fn every_phrase_is_found() {
    let path = Path::new("a.md");
    for list in [&NOWHERE[..], &NOT_IN_PAGES[..], &NOT_IN_COMMENTS[..]] {
        for (phrase, _) in list {
            let text = format!("A line.\nOr {phrase}x that.\n");
            let found = faults(path, &text, list);
            assert!(found.iter().any(|fault| fault.starts_with("a.md:2: ")), "{phrase}");
        }
    }
    assert!(faults(path, "A thread that waits sleeps.\n", &NOT_IN_PAGES).is_empty());
    let text = "/* Nobody waits.\n * Nobody.\n */\n    // Nobody.\nlet nobody = 1;\n";
    let found = faults_in(path, comments(text), &NOT_IN_COMMENTS);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(MENDED.iter().all(|folder| root().join(folder).is_dir()));
    assert!(says_the_same("}", "    /// The same with more arguments."));
    assert!(!says_the_same("/// Waits.", "/// The same holds for others."));
}
