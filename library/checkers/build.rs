//! Breaks the library on purpose: for each mutant in `broken/`, writes the real file with one
//! change as a module, and a test that the checkers reject it.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const LISTS: &str = "broken";
/// Each folder of lists, with the file that is generated from it.
const FOLDERS: [(&str, &str); 8] = [
    (LISTS, "mutants.rs"),
    ("broken/channel", "channel_mutants.rs"),
    ("broken/coordination", "coordination_mutants.rs"),
    ("broken/delegation", "delegation_mutants.rs"),
    ("broken/segments", "segments_mutants.rs"),
    ("broken/stm", "stm_mutants.rs"),
    ("broken/table", "table_mutants.rs"),
    ("broken/window", "window_mutants.rs"),
];
const LIBRARY: &str = "../syncline/src";

/// The change of a mutant, and the case that notices it.
#[derive(Default)]
struct Mutant {
    name: String,
    case: String,
    policy: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// One file of `broken/`.
#[derive(Default)]
struct List {
    /// The file that is broken, relative to the library's sources.
    file: String,
    /// The lock's file, if the lock uses the broken file as a module.
    within: Option<String>,
    /// Private files of the library that the lock uses, unchanged.
    with: Vec<String>,
    /// The folder of the broken file, if the folder's files belong together and are taken as a
    /// whole.
    whole: Option<String>,
    /// The item that is broken: a lock, in whose name a `W` may stand for the policy; a waiting
    /// policy; or a condition variable.
    item: String,
    mutants: Vec<Mutant>,
}

fn main() {
    println!("cargo::rerun-if-changed={LISTS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (folder, output) in FOLDERS {
        fs::write(out.join(output), modules(folder)).expect("the output can be written");
    }
}

/// The mutants of a folder's lists.
fn modules(folder: &str) -> String {
    let mut code = String::new();
    for path in lists(folder) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let text = fs::read_to_string(&path).expect("a list");
        let list = parse(&path, &text);
        let source = read(&list.file);
        let user = list.within.as_deref().map(|user| outside(&read(user), user));
        for mutant in &list.mutants {
            let broken = replaced(&source, mutant)
                .unwrap_or_else(|error| panic!("{}: {}: {error}", path.display(), mutant.name));
            if let Some(folder) = &list.whole {
                let text = whole(folder, &list.file, &broken);
                write_module(&mut code, &stem, &list, mutant, &text);
                continue;
            }
            let broken = outside(&broken, &list.file);
            let mut used: Vec<_> =
                list.with.iter().map(|file| (file.as_str(), outside(&read(file), file))).collect();
            let text = match &user {
                Some(user) => {
                    used.push((&list.file, broken));
                    using(&used, user)
                }
                None => using(&used, &broken),
            };
            write_module(&mut code, &stem, &list, mutant, &text);
        }
    }
    code
}

/// Reads a file of the library.
fn read(file: &str) -> String {
    let path = Path::new(LIBRARY).join(file);
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn lists(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the lists");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a list").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    paths
}

fn parse(path: &Path, text: &str) -> List {
    let mut list = List::default();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let wrong = format!("{}: unknown line: {line}", path.display());
        if let Some(file) = line.strip_prefix("file: ") {
            list.file = file.to_owned();
        } else if let Some(file) = line.strip_prefix("within: ") {
            list.within = Some(file.to_owned());
        } else if let Some(file) = line.strip_prefix("with: ") {
            list.with.push(file.to_owned());
        } else if let Some(folder) = line.strip_prefix("whole: ") {
            list.whole = Some(folder.to_owned());
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

/// The source with the mutant's lines replaced. The lines to replace must occur exactly once;
/// indentation is ignored.
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

/// The source of a folder's `mod.rs` with its modules inlined, one of which is broken.
fn whole(folder: &str, file: &str, broken: &str) -> String {
    let text = plain(&read(&format!("{folder}/mod.rs")));
    let modules = text.lines().map(|line| {
        let declared = line.trim_end_matches(';').rsplit_once("mod ");
        let Some((visible, name)) = declared.filter(|_| line.ends_with(';')) else {
            return format!("{line}\n");
        };
        let module = format!("{folder}/{name}.rs");
        let text = if module == file { broken.to_owned() } else { read(&module) };
        format!("{visible}mod {name} {{\n{}\n}}\n", plain(&text))
    });
    modules.collect()
}

/// The source adapted for use outside the library's crate.
fn outside(text: &str, file: &str) -> String {
    let parent = file.rsplit_once('/').map_or("", |(parent, _)| parent).replace('/', "::");
    plain(text).replace("pub(super)", "pub").replace("super::", &format!("syncline::{parent}::"))
}

/// The source without tests, with inner comments as ordinary ones, and with crate-private items
/// made public. Copies find the items of the library's private modules in its root.
fn plain(text: &str) -> String {
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines()
        .map(|line| match line.trim_start().strip_prefix("//!") {
            Some(comment) => format!("//{comment}\n"),
            None => format!("{line}\n"),
        })
        .collect::<String>()
        .replace("pub(crate)", "pub")
        .replace("crate::deadline::", "crate::")
        .replace("crate::mutex::", "crate::")
        .replace("crate::", "syncline::")
}

/// The source of a lock with the files that it uses, broken or not, as modules.
fn using(used: &[(&str, String)], user: &str) -> String {
    let name = |file: &str| {
        let name = Path::new(file).file_stem().and_then(|stem| stem.to_str()).expect("a name");
        name.to_owned()
    };
    let redirected = |text: &str, to: &str| {
        used.iter().fold(text.to_owned(), |text, (file, _)| {
            let library =
                format!("syncline::{}::", file.trim_end_matches(".rs").replace('/', "::"));
            text.replace(&library, &format!("{to}::{}::", name(file)))
        })
    };
    let modules: Vec<_> = used
        .iter()
        .map(|(file, text)| format!("mod {} {{\n{}\n}}\n", name(file), redirected(text, "super")))
        .collect();
    modules.concat() + &redirected(user, "self")
}

fn write_module(code: &mut String, stem: &str, list: &List, mutant: &Mutant, text: &str) {
    let Mutant { name, case, policy, .. } = mutant;
    let item = &list.item;
    let policy_of = format!("syncline::wait::{policy}");
    // A broken policy makes a correct lock fail, and so does a broken condition variable.
    let rejected = match list.file.split_once('/') {
        None if item == "Condvar" => format!("crate::condvar::reject!({case}, {policy}, {item})"),
        Some(("wait", _)) => {
            format!("crate::mutants::reject!({case}, syncline::lock::{policy}<{item}, Loom>)")
        }
        _ if item.contains('<') => {
            format!("crate::mutants::reject!({case}, {})", item.replace('W', &policy_of))
        }
        _ => format!("crate::mutants::reject!({case}, {item}<{policy_of}, Loom>)"),
    };
    write!(
        code,
        "mod {stem}_{name} {{\n\
         #![allow(dead_code, unused, unexpected_cfgs, non_local_definitions)]\n\
         #![allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]\n\
         {text}\n\
         #[test]\n\
         fn is_rejected() {{\n\
         use syncline_checkers::Loom;\n\
         {rejected};\n\
         }}\n\
         }}\n"
    )
    .expect("a string can be written to");
}
