//! Each dependency in a manifest is named by the crate's own code. A dependency for tests may be
//! named in tests only; any other must be named in `src` or in the build script.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::crates;
use crate::sources::sources;

/// Packages whose library has another name.
const LIBRARIES: [(&str, &str); 1] = [("perf-event2", "perf_event")];

/// Dependencies that the crate's own files don't name. Some mutants of the checkers are files of
/// the library, and these files name the dependencies.
const UNNAMED: [(&str, &str); 2] = [("checkers", "bytemuck"), ("checkers", "seize")];

/// The parts of a crate that may name a dependency in this section of its manifest.
fn parts(section: &str) -> &'static [&'static str] {
    match section {
        "dependencies" => &["src"],
        "dev-dependencies" => &["src", "tests", "examples", "benches"],
        _ => &["build.rs"],
    }
}

/// The dependencies in a manifest, each with its section.
fn dependencies(manifest: &Table) -> BTreeSet<(&str, &str)> {
    let mut found = BTreeSet::new();
    for (key, value) in manifest {
        let Value::Table(table) = value else { continue };
        if key.ends_with("dependencies") {
            found.extend(table.keys().map(|name| (key.as_str(), name.as_str())));
        } else if key == "target" {
            let platforms = table.values().filter_map(Value::as_table);
            found.extend(platforms.flat_map(dependencies));
        }
    }
    found
}

/// Whether a file's code names a library, either at the beginning of a path or alone after `use` or
/// `extern crate`.
fn names(text: &str, library: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let in_line = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.match_indices(library).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + library.len()..]);
            let begins = !before.ends_with(|c: char| is_word(c) || c == ':');
            let imported = before.ends_with("use ") || before.ends_with("extern crate ");
            begins && (after.starts_with("::") || imported && !after.starts_with(is_word))
        })
    };
    text.lines().any(in_line)
}

/// A file's text up to its module of tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// The dependencies of the crate in this folder that its code doesn't name.
fn unused(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let manifest: Table = text.parse().expect("a manifest");
    let is_named = |(section, name): &(&str, &str)| {
        let other = LIBRARIES.iter().find(|(package, _)| package == name);
        let library = other.map_or(name.replace('-', "_"), |(_, library)| (*library).to_owned());
        let mut files = Vec::new();
        for part in parts(section).iter().map(|part| folder.join(part)).filter(|p| p.exists()) {
            if part.is_dir() { sources(&part, &mut files) } else { files.push(part) }
        }
        let mut texts = files.iter().map(|file| fs::read_to_string(file).expect("a text"));
        texts.any(|text| {
            let code = if section == &"dependencies" { without_tests(&text) } else { &text };
            names(code, &library)
        })
    };
    let unnamed = dependencies(&manifest).into_iter().filter(|dependency| !is_named(dependency));
    unnamed.map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn every_dependency_is_named_by_the_crates_code() {
    let found = crates().into_iter().flat_map(|folder| {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        unused(&folder).into_iter().map(move |dependency| (name.clone(), dependency))
    });
    let listed = UNNAMED.map(|(folder, dependency)| (folder.to_owned(), dependency.to_owned()));
    assert_eq!(found.collect::<BTreeSet<_>>(), listed.into(), "unnamed, and those that are listed");
}

#[test]
fn an_unused_dependency_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "Cargo.toml",
        "[dependencies]\nserde = '1'\nserde-json = '1'\nlibc = '1'\nnix = '1'\nregex = '1'\n\
         [dev-dependencies]\nfastrand = '1'\ntempfile = '1'\n[build-dependencies]\ncc = '1'\n\
         [target.'cfg(unix)'.dependencies]\nrustix = '1'\nperf-event2 = '1'\n",
    );
    let text = "use serde_json::Value;\nextern crate perf_event;\nuse crate::regex::Text;\n\
                // nix::fork();\nfn f() { libc::fork() }\n#[cfg(test)]\nmod tests {\n\
                fn g() { fastrand::u8(..); serde::from(1); }\n}\n";
    write("src/lib.rs", text);
    write("tests/text.rs", "use rustix::fs;\nuse cc;\n");
    assert_eq!(unused(folder.path()), ["cc", "nix", "regex", "rustix", "serde", "tempfile"]);
    write("build.rs", "fn main() { cc::Build::new(); }\n");
    write("tests/text.rs", "use tempfile as t;\n");
    assert_eq!(unused(folder.path()), ["nix", "regex", "rustix", "serde"]);
}
