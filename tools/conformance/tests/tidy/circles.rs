//! Files don't import each other in a circle: one of them is then above the other, and a reader can
//! begin below.
//!
//! Between files of different folders there is none at all, but that a file may use what it stands in. Crates
//! that are not on [`LEFT_IN_FOLDERS`] have none between any two files: there a `mod.rs` either has
//! what its folder's files are built of, or is built of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::crates;
use crate::imports::{Files, Module, files, imports};

/// Crates in which circles across folders are left: a recorder is made by the thread that counts in it.
const LEFT: [&str; 1] = ["recorder"];

/// Crates in which files that stand beside or in each other come back to each other.
const LEFT_IN_FOLDERS: [&str; 8] = [
    "analysis",
    "bench",
    "cli",
    "dsm",
    "recorder",
    "recording",
    "sim",
    "syncline",
];

/// Which files import which.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// The imports that are part of a circle.
fn circles(graph: &Graph, files: &Files, counts: impl Fn(&Module, &Module) -> bool) -> Vec<String> {
    let reached = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut left = vec![from];
        while let Some(module) = left.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if seen.insert(next) {
                    left.push(next);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|module| (module, reached(module))).collect();
    let mut found = Vec::new();
    for (module, used) in graph {
        for other in used {
            if reach[other].contains(module) && counts(module, other) {
                let (from, to) = (files[module].display(), files[other].display());
                found.push(format!("{from} imports {to}, which comes back to it"));
            }
        }
    }
    found
}

/// Those between any files.
fn within_folders(files: &Files) -> Vec<String> {
    circles(&imports(files), files, |_, _| true)
}

/// Those between files of different folders. What a file stands in doesn't count.
fn across_folders(files: &Files) -> Vec<String> {
    let mut graph = imports(files);
    for (module, used) in &mut graph {
        used.retain(|used| !module.starts_with(used));
    }
    let folder = |module: &Module| files[module].parent();
    circles(&graph, files, |from, to| folder(from) != folder(to))
}

/// Looks at all crates; those that are listed must have what is looked for, and the others not.
fn check(listed: &[&str], circles: impl Fn(&Files) -> Vec<String>) {
    let mut looked_at = 0;
    let mut faults = Vec::new();
    for folder in crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let files = files(&folder.join("src"));
        looked_at += files.len();
        let circles = circles(&files);
        match listed.contains(&name.as_str()) {
            true if circles.is_empty() => {
                faults.push(format!("{name} has none any more: take it off the list"));
            }
            true => {}
            false => faults.extend(circles),
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(looked_at > 500, "only {looked_at} files");
}

#[test]
fn no_circle_of_files_spans_folders() {
    check(&LEFT, across_folders);
}

#[test]
fn no_circle_of_files_at_all_where_none_is_left() {
    check(&LEFT_IN_FOLDERS, within_folders);
}

/// A crate that is made of texts.
struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Made {
        Made(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn found(&self, circles: impl Fn(&Files) -> Vec<String>) -> usize {
        circles(&files(Path::new(self.0.path()))).len()
    }
}

#[test]
fn a_circle_across_folders_is_found() {
    let made = Made::new();
    made.write("lib.rs", "mod lock;\nmod wait;\nuse lock::mcs::Mcs;\n");
    made.write("lock/mod.rs", "pub mod mcs;\n");
    made.write("lock/mcs.rs", "use std::fmt;\nuse crate::{\n    wait::{park::Park, Wait},\n};\n");
    made.write("wait/mod.rs", "pub mod park;\n// use crate::lock::mcs::Mcs;\npub trait Wait {}\n");
    made.write("wait/park.rs", "pub struct Park;\nmod tests {\nuse crate::lock::mcs::Mcs;\n}\n");
    assert_eq!(made.found(across_folders), 0);
    made.write("wait/park.rs", "pub struct Park;\nfn f(_: &crate::lock::mcs::Mcs) {}\n");
    assert_eq!(made.found(across_folders), 2, "each way");
    made.write("wait/park.rs", "use super::super::lock::mcs;\npub struct Park;\n");
    assert_eq!(made.found(across_folders), 2, "also by a relative path");
}

#[test]
fn a_circle_within_a_folder_is_found() {
    let made = Made::new();
    let inner =
        "mod real {\n    use super::*;\n    mod one {\n        use super::super::*;\n    }\n}\n";
    made.write("lib.rs", "pub mod sites;\nmod lock;\npub use sites::Site;\n");
    made.write("lock/mod.rs", "mod word;\nuse word::Word;\npub struct Lock(Word);\n");
    made.write("lock/word.rs", &format!("use crate::sites;\npub struct Word;\n{inner}"));
    made.write("sites.rs", "pub struct Site;\n");
    assert_eq!(made.found(within_folders), 0, "a module in the file is the file's");
    made.write("lock/word.rs", "use super::Lock;\npub struct Word;\n");
    assert_eq!(made.found(within_folders), 2, "of a module and what it stands in");
    assert_eq!(made.found(across_folders), 0);
    made.write(
        "lock/word.rs",
        &format!("pub struct Word;\n{}", inner.replace("r::*", "r::super::*")),
    );
    assert_eq!(made.found(within_folders), 2, "from a module in the file, one level further up");
    made.write("lock/word.rs", "pub struct Word;\n");
    made.write(
        "lock/mod.rs",
        "mod word;\nfn f() -> word::Word {}\nfn g(_: crate::sites::Site) {}\n",
    );
    made.write("sites.rs", "use crate::lock;\n");
    assert_eq!(made.found(within_folders), 2, "of files that stand beside each other");
    made.write("sites.rs", "macro_rules! locked {\n    () => { $crate::lock::Lock };\n}\n");
    assert_eq!(made.found(within_folders), 0, "a macro's path is imported where the macro is used");
}
