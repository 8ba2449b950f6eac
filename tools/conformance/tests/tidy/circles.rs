//! Files of different folders don't import each other in a circle: one of them is then above the
//! other, and a reader can begin below.
//!
//! What a file imports is read from its `use` lines and from paths that begin with `crate::`; unit
//! tests at a file's end don't count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::crates;

/// Crates in which circles are left: a recorder is made by the thread that counts in it, and tracing is
/// begun and ended by what it traces.
const LEFT: [&str; 2] = ["recorder", "tracer"];

/// A module's path: `["findings", "order"]`.
type Module = Vec<String>;

/// The modules below a crate's `src`, each with its file.
fn modules(source: &Path, folder: &Path, into: &mut BTreeMap<Module, PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            modules(source, &path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let inside = path.strip_prefix(source).expect("it is below").with_extension("");
            let words = inside.iter().map(|word| word.to_string_lossy().into_owned());
            let mut module: Module = words.collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                module.pop();
            }
            into.insert(module, path);
        }
    }
}

/// The paths that a file names, each from the crate's root.
fn named(module: &Module, text: &str) -> Vec<Module> {
    let code: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("mod tests {"))
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("use ") {
        rest = &rest[at + "use ".len()..];
        let end = rest.find(';').unwrap_or(rest.len());
        expand(&[], &rest[..end], &mut paths);
    }
    for part in code.split("crate::").skip(1) {
        let end = part.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
        expand(&["crate".to_owned()], &part[..end.unwrap_or(part.len())], &mut paths);
    }
    let from_root = |path: Module| match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" | "super" => {
            let ups = path.iter().take_while(|word| *word == "super").count();
            let kept = module.len().saturating_sub(ups);
            let words = path.iter().skip_while(|word| matches!(word.as_str(), "super" | "self"));
            Some(module[..kept].iter().chain(words).cloned().collect())
        }
        _ => None,
    };
    paths.into_iter().filter_map(from_root).collect()
}

/// The single paths of `a::{b, c::{d, e}}`.
fn expand(before: &[String], tree: &str, into: &mut Vec<Module>) {
    let tree = tree.trim();
    if let Some(inner) = tree.strip_prefix('{') {
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        let (mut depth, mut start) = (0, 0);
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(before, &inner[start..at], into);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand(before, &inner[start..], into);
        return;
    }
    let word = tree.split([' ', '\n']).next().unwrap_or_default();
    match tree.split_once("::") {
        Some((first, rest)) if !first.contains(' ') && !rest.is_empty() => {
            let before: Vec<String> = before.iter().cloned().chain([first.to_owned()]).collect();
            expand(&before, rest, into);
        }
        _ if word.is_empty() => {}
        _ => into.push(before.iter().cloned().chain([word.to_owned()]).collect()),
    }
}

/// Which modules import which, but for those that they stand in.
fn imports(files: &BTreeMap<Module, PathBuf>) -> BTreeMap<Module, BTreeSet<Module>> {
    let of = |(module, path): (&Module, &PathBuf)| {
        let text = fs::read_to_string(path).expect("a text");
        let longest = |path: Module| {
            (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| files.contains_key(m))
        };
        let used = named(module, &text).into_iter().filter_map(longest);
        (module.clone(), used.filter(|used| !module.starts_with(used)).collect())
    };
    files.iter().map(of).collect()
}

/// The pairs of files in different folders that reach each other.
fn circles(files: &BTreeMap<Module, PathBuf>) -> Vec<String> {
    let graph = imports(files);
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
    let folder = |module: &Module| files[module].parent();
    let mut found = Vec::new();
    for (module, used) in &graph {
        for other in used {
            if reach[other].contains(module) && folder(module) != folder(other) {
                let (from, to) = (files[module].display(), files[other].display());
                found.push(format!("{from} imports {to}, which comes back to it"));
            }
        }
    }
    found
}

#[test]
fn no_circle_of_files_spans_folders() {
    let mut looked_at = 0;
    for folder in crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let source = folder.join("src");
        let mut files = BTreeMap::new();
        modules(&source, &source, &mut files);
        looked_at += files.len();
        let circles = circles(&files);
        match LEFT.contains(&name.as_str()) {
            false => assert!(circles.is_empty(), "{circles:#?}"),
            true => assert!(!circles.is_empty(), "{name} has none any more: take it off the list"),
        }
    }
    assert!(looked_at > 500, "only {looked_at} files");
}

#[test]
fn a_circle_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let found = || {
        let mut files = BTreeMap::new();
        modules(folder.path(), folder.path(), &mut files);
        circles(&files).len()
    };
    write("lib.rs", "mod lock;\nmod wait;\nuse lock::mcs::Mcs;\n");
    write("lock/mod.rs", "pub mod mcs;\n");
    write("lock/mcs.rs", "use std::fmt;\nuse crate::{\n    wait::{park::Park, Wait},\n};\n");
    write("wait/mod.rs", "pub mod park;\n// use crate::lock::mcs::Mcs;\npub trait Wait {}\n");
    write("wait/park.rs", "pub struct Park;\nmod tests {\nuse crate::lock::mcs::Mcs;\n}\n");
    assert_eq!(found(), 0);
    write("wait/park.rs", "pub struct Park;\nfn f(_: &crate::lock::mcs::Mcs) {}\n");
    assert_eq!(found(), 2, "each way");
    write("wait/park.rs", "use super::super::lock::mcs;\npub struct Park;\n");
    assert_eq!(found(), 2, "also by a relative path");
}
