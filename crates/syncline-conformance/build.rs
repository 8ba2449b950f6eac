//! Breaks locks on purpose: for each mutant that `broken/` lists, writes the real file with one
//! change as a module, and a test that the checkers reject it.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const LISTS: &str = "broken";
const LIBRARY: &str = "../syncline/src";

/// What a mutant changes, and what notices.
#[derive(Default)]
struct Mutant {
    name: String,
    case: String,
    policy: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// One file of `broken/`.
struct List {
    /// The file that is broken, below the library's sources.
    file: String,
    /// The lock in it, or the waiting policy.
    item: String,
    mutants: Vec<Mutant>,
}

fn main() {
    println!("cargo::rerun-if-changed={LISTS}");
    let mut code = String::new();
    for path in lists() {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let text = fs::read_to_string(&path).expect("a list");
        let list = parse(&path, &text);
        let source = Path::new(LIBRARY).join(&list.file);
        println!("cargo::rerun-if-changed={}", source.display());
        let source = fs::read_to_string(&source)
            .unwrap_or_else(|error| panic!("{}: {}: {error}", path.display(), list.file));
        for mutant in &list.mutants {
            let broken = replaced(&source, mutant)
                .unwrap_or_else(|error| panic!("{}: {}: {error}", path.display(), mutant.name));
            write_module(&mut code, &stem, &list, mutant, &outside(&broken, &list.file));
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("mutants.rs"), code).expect("the folder for output can be written");
}

fn lists() -> Vec<PathBuf> {
    let entries = fs::read_dir(LISTS).expect("the lists");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a list").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    paths
}

fn parse(path: &Path, text: &str) -> List {
    let mut list = List { file: String::new(), item: String::new(), mutants: Vec::new() };
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let wrong = format!("{}: unknown line: {line}", path.display());
        if let Some(file) = line.strip_prefix("file: ") {
            list.file = file.to_owned();
        } else if let Some(item) = line.strip_prefix("breaks: ") {
            list.item = item.to_owned();
        } else if let Some(name) = line.strip_prefix("mutant: ") {
            list.mutants.push(Mutant { name: name.to_owned(), ..Mutant::default() });
        } else {
            let mutant = list.mutants.last_mut().expect(&wrong);
            if let Some(by) = line.strip_prefix("noticed by: ") {
                let (case, policy) = by.split_once(' ').expect(&wrong);
                (mutant.case, mutant.policy) = (case.to_owned(), policy.to_owned());
            } else if let Some(old) = line.strip_prefix('-') {
                mutant.old.push(old.trim().to_owned());
            } else if let Some(new) = line.strip_prefix('+') {
                mutant.new.push(new.trim().to_owned());
            } else {
                panic!("{wrong}")
            }
        }
    }
    list
}

/// The text with the mutant's lines replaced, which must be there once; indentation is free.
fn replaced(text: &str, mutant: &Mutant) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let old = &mutant.old;
    if old.is_empty() {
        return Err("it replaces nothing".to_owned());
    }
    let places: Vec<usize> = lines
        .windows(old.len())
        .enumerate()
        .filter(|(_, window)| window.iter().map(|line| line.trim()).eq(old))
        .map(|(start, _)| start)
        .collect();
    let &[place] = places.as_slice() else {
        return Err(format!(
            "the lines to replace occur {} times, not once: {old:?}",
            places.len()
        ));
    };
    let new = mutant.new.iter().map(String::as_str);
    let (before, after) = (&lines[..place], &lines[place + old.len()..]);
    Ok(before.iter().copied().chain(new).chain(after.iter().copied()).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        },
    ))
}

/// The text as it reads outside of the library's crate.
fn outside(text: &str, file: &str) -> String {
    let parent = file.split_once('/').map_or("", |(parent, _)| parent);
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines()
        .map(|line| match line.trim_start().strip_prefix("//!") {
            Some(comment) => format!("//{comment}\n"),
            None => format!("{line}\n"),
        })
        .collect::<String>()
        .replace("pub(crate)", "pub")
        .replace("pub(super)", "pub")
        .replace("crate::", "syncline::")
        .replace("super::", &format!("syncline::{parent}::"))
}

fn write_module(code: &mut String, stem: &str, list: &List, mutant: &Mutant, text: &str) {
    let Mutant { name, case, policy, .. } = mutant;
    let item = &list.item;
    // A broken policy makes a lock fail that is right.
    let lock = match list.file.split_once('/') {
        Some(("wait", _)) => format!("syncline::lock::{policy}<{item}, Loom>"),
        _ => format!("{item}<syncline::wait::{policy}, Loom>"),
    };
    write!(
        code,
        "mod {stem}_{name} {{\n\
         #![allow(dead_code, unused, unexpected_cfgs, missing_docs, clippy::all)]\n\
         {text}\n\
         #[test]\n\
         fn is_rejected() {{\n\
         use syncline_conformance::memory::Loom;\n\
         crate::mutants::reject!({case}, {lock});\n\
         }}\n\
         }}\n"
    )
    .expect("a string can be written to");
}
