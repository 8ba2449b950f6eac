//! Files don't import each other in a circle, so a reader can begin with a file that imports no
//! other.
//!
//! There is no circle between files of different folders, except that a file may use the modules
//! that contain it. Outside of the folders in [`LEFT`] there is no circle between any files, even
//! within a folder: a `mod.rs` either has what the files of its folder use, or uses these files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::crates;
use crate::imports::{Files, Module, files, imports};

/// Folders whose files import each other in circles, because together they make one thing.
///
/// - `sim/engine`: all parts of the engine change the engine. Each file has one part, and the
///   functions of the engine about that part.
/// - `syncline/stm`: an engine makes cells, transactions use cells, and a transaction runs on the
///   default engine unless it names another.
const LEFT: [&str; 2] = ["sim/engine", "syncline/stm"];

/// The files that each file imports.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// An import: the importing file, and the imported file.
type Import = [PathBuf; 2];

/// The imports that are part of a circle.
fn circles(graph: &Graph, files: &Files, counts: impl Fn(&Module, &Module) -> bool) -> Vec<Import> {
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
                found.push([files[module].clone(), files[other].clone()]);
            }
        }
    }
    found
}

/// The imports that are part of any circle.
fn within_folders(files: &Files) -> Vec<Import> {
    circles(&imports(files), files, |_, _| true)
}

/// The imports that are part of a circle between files of different folders. Imports of a module
/// that contains the importing file don't count.
fn across_folders(files: &Files) -> Vec<Import> {
    let mut graph = imports(files);
    for (module, used) in &mut graph {
        used.retain(|used| !module.starts_with(used));
    }
    let folder = |module: &Module| files[module].parent();
    circles(&graph, files, |from, to| folder(from) != folder(to))
}

/// The folder of sources that an entry of [`LEFT`] stands for; `None` if it is in another crate
/// than the one in `folder`.
fn listed_folder(entry: &str, folder: &Path) -> Option<PathBuf> {
    let (name, inside) = entry.split_once('/').unwrap_or((entry, ""));
    folder.ends_with(name).then(|| folder.join("src").join(inside))
}

/// Removes the imports between files of the same listed folder of the crate. Listed folders that
/// have such imports are removed from `unused`.
fn but_for_listed<'l>(
    mut imports: Vec<Import>,
    folder: &Path,
    listed: &[&'l str],
    unused: &mut BTreeSet<&'l str>,
) -> Vec<Import> {
    let folders = |entry: &&'l str| Some((*entry, listed_folder(entry, folder)?));
    let folders: Vec<(&str, PathBuf)> = listed.iter().filter_map(folders).collect();
    imports.retain(|import| {
        let lies_in = |(_, folder): &&(&str, PathBuf)| import.iter().all(|f| f.starts_with(folder));
        let entry = folders.iter().find(lies_in).map(|(entry, _)| *entry);
        entry.is_none_or(|entry| {
            unused.remove(entry);
            false
        })
    });
    imports
}

/// The folders that are crate roots: the crate's sources, and the folder of each program that has
/// several files.
fn roots(folder: &Path) -> Vec<PathBuf> {
    let source = folder.join("src");
    let programs = std::fs::read_dir(source.join("bin")).into_iter().flatten();
    let programs = programs.map(|entry| entry.expect("an entry").path()).filter(|p| p.is_dir());
    programs.chain([source.clone()]).collect()
}

/// Checks all crates: each listed folder must have a circle, and files elsewhere must have none.
fn check(listed: &[&str], circles: impl Fn(&Files) -> Vec<Import>) {
    let mut looked_at = 0;
    let mut faults = Vec::new();
    let mut unused: BTreeSet<&str> = listed.iter().copied().collect();
    for folder in crates() {
        for root in roots(&folder) {
            let files = files(&root);
            looked_at += files.len();
            for [from, to] in but_for_listed(circles(&files), &folder, listed, &mut unused) {
                let (from, to) = (from.display(), to.display());
                faults.push(format!("{from} imports {to}, which comes back to it"));
            }
        }
    }
    let unused =
        unused.iter().map(|entry| format!("{entry} has none any more: take it off the list"));
    faults.extend(unused);
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(looked_at > 500, "only {looked_at} files");
}

#[test]
fn no_circle_of_files_spans_folders() {
    check(&[], across_folders);
}

#[test]
fn files_outside_listed_folders_have_no_import_cycle() {
    check(&LEFT, within_folders);
}

/// A crate that a test writes.
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

    fn found(&self, circles: impl Fn(&Files) -> Vec<Import>) -> usize {
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

#[test]
fn a_listed_folder_keeps_its_circles_and_no_others() {
    let import = |from: &str, to: &str| [from, to].map(|file| Path::new("/a/dsm/src").join(file));
    let inside = import("program/mod.rs", "program/locks.rs");
    let outside = import("program/mod.rs", "pages.rs");
    let listed = ["dsm/program", "sim"];
    let mut unused = BTreeSet::from(listed);
    let crate_folder = Path::new("/a/dsm");
    let imports = vec![inside.clone(), outside.clone()];
    let others = but_for_listed(imports, crate_folder, &listed, &mut unused);
    assert_eq!(others, std::slice::from_ref(&outside));
    assert_eq!(unused, BTreeSet::from(["sim"]), "which has none");
    assert_eq!(but_for_listed(vec![outside], crate_folder, &["dsm"], &mut unused), [inside; 0]);
}
