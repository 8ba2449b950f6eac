//! The imports between the files of a crate.
//!
//! The imports of a file are read from its `use` lines and from the paths in its code. Unit tests
//! at the end of a file and declarations of modules don't count. If an exported macro names an item
//! by `$crate`, the import belongs to the files that use the macro, and not to the macro's file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module's path from the crate's root, such as `["findings", "order"]`.
pub type Module = Vec<String>;

/// The files of a crate by module.
pub type Files = BTreeMap<Module, PathBuf>;

/// The Rust files below a crate's `src`, by module.
pub fn files(source: &Path) -> Files {
    let mut files = Files::new();
    add(source, source, &mut files);
    files
}

fn add(source: &Path, folder: &Path, into: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add(source, &path, into);
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

/// The modules that each module imports.
pub fn imports(files: &Files) -> BTreeMap<Module, BTreeSet<Module>> {
    let of = |(module, path): (&Module, &PathBuf)| {
        let text = fs::read_to_string(path).expect("a text");
        let longest = |path: Module| {
            (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| files.contains_key(m))
        };
        let used = named(module, &text, files).into_iter().filter_map(longest);
        (module.clone(), used.filter(|used| used != module).collect())
    };
    files.iter().map(of).collect()
}

/// The paths that a file names, each as a path from the crate's root.
fn named(module: &Module, text: &str, files: &Files) -> Vec<Module> {
    let code = code(text);
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("use ") {
        rest = &rest[at + "use ".len()..];
        let end = rest.find(';').unwrap_or(rest.len());
        expand(&[], &rest[..end], &mut paths);
    }
    for path in code.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)) {
        let words = path.split("::").filter(|word| !word.is_empty());
        let words: Module = words.map(str::to_owned).collect();
        if words.len() > 1 && path.starts_with(|c: char| c.is_alphabetic()) {
            paths.push(words);
        }
    }
    let from_root = |path: Module| match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" | "super" => {
            let is_step = |word: &&String| matches!(word.as_str(), "super" | "self");
            let ups = path.iter().take_while(is_step).filter(|word| *word == "super").count();
            let kept = module.len().saturating_sub(ups);
            Some(module[..kept].iter().chain(path.iter().skip_while(is_step)).cloned().collect())
        }
        // A module inside this one, or an item of another crate.
        first => {
            let below: Module = module.iter().cloned().chain([first.to_owned()]).collect();
            files.contains_key(&below).then(|| module.iter().cloned().chain(path).collect())
        }
    };
    paths.into_iter().filter_map(from_root).collect()
}

/// A file's text without comments and unit tests. Within an inline module, `super` is replaced by
/// `self`.
fn code(text: &str) -> String {
    let mut inside: Vec<usize> = Vec::new();
    let mut code = String::new();
    for line in text.lines().take_while(|line| !line.starts_with("mod tests {")) {
        let line =
            line.split("//").next().unwrap_or_default().replace("$crate::", "").replace("r#", "");
        let depth = line.len() - line.trim_start().len();
        if inside.last() == Some(&depth) && line.trim() == "}" {
            inside.pop();
        }
        let mut words = line.split("super::").peekable();
        let mut ups = 0;
        while let Some(word) = words.next() {
            ups = if word.is_empty() { ups } else { 0 };
            code.push_str(word);
            if words.peek().is_some() {
                ups += 1;
                code.push_str(if ups <= inside.len() { "self::" } else { "super::" });
            }
        }
        code.push('\n');
        let declared = line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        if declared.starts_with("mod ") && declared.ends_with('{') {
            inside.push(depth);
        }
    }
    code
}

/// Adds the single paths of a tree such as `a::{b, c::{d, e}}`, each with `before` in front.
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
