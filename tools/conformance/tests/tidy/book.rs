//! The book in `docs/` is whole: every page is in its table of contents, every link leads to a page
//! or a heading that exists, and every page that a source file, a message or another page names by
//! its path exists.
//!
//! mdBook itself checks only that the pages of `SUMMARY.md` exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;
use crate::sources::{crate_sources, sources};

/// The lines of prose in a page, each with its number. Code blocks and the text between backquotes
/// are left out.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with("    ") {
            // Every other piece between backquotes is code.
            lines.push((number + 1, line.split('`').step_by(2).collect::<Vec<_>>().join("`")));
        }
    }
    lines
}

/// The targets of the links `[words](target)` and of the pictures in a page, each with its line.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for (begin, end) in [("](", ')'), (" src=\"", '"'), (" srcset=\"", '"')] {
            let targets = line.split(begin).skip(1).filter_map(|rest| rest.split_once(end));
            found.extend(targets.map(|(target, _)| (number, target.to_owned())));
        }
    }
    found
}

/// The names by which links refer to the headings of a page. mdBook makes them in the same way.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let mut names = BTreeSet::new();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if in_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let letters = title.trim().chars().filter_map(|letter| match letter {
            _ if letter.is_alphanumeric() || letter == '_' || letter == '-' => {
                Some(letter.to_ascii_lowercase())
            }
            _ if letter.is_whitespace() => Some('-'),
            _ => None,
        });
        let name: String = letters.collect();
        let earlier = uses.entry(name.clone()).or_default();
        names.insert(if *earlier == 0 { name } else { format!("{name}-{earlier}") });
        *earlier += 1;
    }
    names
}

/// The pages below a folder, by their paths relative to it.
fn pages(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.strip_prefix(folder).expect("it is below").to_owned();
                found.insert(name, fs::read_to_string(&path).expect("a page"));
            }
        }
    }
    found
}

/// The path without `.` and `..`; `None` if the path leads out of the folder.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.iter() {
        match part.to_str()? {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.into_iter().collect())
}

/// The faults of the book in this folder.
fn faults(folder: &Path) -> Vec<String> {
    let pages = pages(folder);
    let summary = Path::new("SUMMARY.md");
    let mut faults = Vec::new();
    let mut listed: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (page, text) in &pages {
        for (line, target) in links(text) {
            if target.contains("://") {
                continue;
            }
            let mut fault = |what: &str| {
                faults.push(format!("{}:{line}: {target} {what}", page.display()));
            };
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let near = page.parent().expect("a page is in a folder").join(file);
            let reached = if file.is_empty() { Some(page.clone()) } else { normal(&near) };
            let Some(reached) = reached else {
                fault("leaves the book");
                continue;
            };
            if page == summary {
                *listed.entry(reached.clone()).or_default() += 1;
            }
            match pages.get(&reached) {
                Some(other) if anchor.is_empty() || anchors(other).contains(anchor) => {}
                Some(_) => fault("is no heading of that page"),
                None if folder.join(&reached).is_file() => {}
                None => fault("does not exist"),
            }
        }
    }
    for page in pages.keys().filter(|page| *page != summary) {
        match listed.get(page) {
            Some(1) => {}
            Some(_) => faults.push(format!("{} is in SUMMARY.md twice", page.display())),
            None => faults.push(format!("{} is not in SUMMARY.md", page.display())),
        }
    }
    faults
}

/// The pages that a text names by their paths in the repository, such as `docs/NAME.md`.
fn named(text: &str) -> BTreeSet<String> {
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "/-_.".contains(letter);
    let mut names = BTreeSet::new();
    for (at, start) in text.match_indices("docs/") {
        let rest = &text[at + start.len()..];
        let path = &rest[..rest.find(|letter| !is_path(letter)).unwrap_or(rest.len())];
        if let Some(end) = path.find(".md") {
            names.insert(format!("docs/{}", &path[..end + ".md".len()]));
        }
    }
    names
}

#[test]
fn the_book_is_whole() {
    let folder = root().join("docs");
    assert!(pages(&folder).len() > 30, "only {} pages", pages(&folder).len());
    let faults = faults(&folder);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn pages_that_are_named_exist() {
    let mut files = crate_sources();
    sources(&root().join("workloads"), &mut files);
    sources(&root().join("script"), &mut files);
    let others = ["x", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    files.extend(others.map(|name| root().join(name)));
    files.extend(pages(&root().join("docs")).keys().map(|page| root().join("docs").join(page)));
    let (mut names, mut missing) = (0, Vec::new());
    for path in files {
        let text = fs::read_to_string(&path).expect("a text");
        for name in named(&text) {
            names += 1;
            if name != "docs/NAME.md" && !root().join(&name).exists() {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(names > 100, "only {names} names");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_workload_is_an_example_of_its_rule() {
    let page = fs::read_to_string(root().join("docs/findings.md")).expect("a page");
    let mut programs = Vec::new();
    sources(&root().join("workloads"), &mut programs);
    let mut examples = 0;
    for path in programs {
        let text = fs::read_to_string(&path).expect("a program");
        let name = path.file_stem().expect("a name").to_string_lossy();
        for (_, rest) in
            text.match_indices("FINDING ").map(|(at, mark)| text.split_at(at + mark.len()))
        {
            let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
            let row = format!("| `{}` | `{name}` |", &rest[..end.unwrap_or(rest.len())]);
            assert!(page.contains(&row), "docs/findings.md has no row {row}");
            examples += 1;
        }
    }
    assert!(examples > 25, "only {examples} examples");
}

#[test]
fn faults_of_a_book_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a page");
    };
    let found = || faults(folder.path());
    write("SUMMARY.md", "[A](a.md)\n- [B](b/b.md)\n");
    write(
        "a.md",
        "# A `b` to C\n## More\n## More\n[b](b/b.md) [m](#more-1) [x](https://x.y/z.md)\n",
    );
    write("b/b.md", "[a](../a.md#a-b-to-c)\n`[no](link.md)`\n```\n[no](link.md)\n```\n");
    assert_eq!(found(), Vec::<String>::new());

    write(
        "b/b.md",
        "[a](../a.md#more-2)\n[c](c.md)\n[out](../../README.md)\n<img src=\"x.png\">\n",
    );
    let faults = [
        "b/b.md:1: ../a.md#more-2 is no heading of that page",
        "b/b.md:2: c.md does not exist",
        "b/b.md:3: ../../README.md leaves the book",
        "b/b.md:4: x.png does not exist",
    ];
    assert_eq!(found(), faults);

    write("b/b.md", "nothing\n");
    write("c.md", "# Left out\n");
    write("SUMMARY.md", "[A](a.md)\n- [A](a.md)\n- [B](b/b.md)\n- [D](d.md)\n");
    let faults = [
        "SUMMARY.md:4: d.md does not exist",
        "a.md is in SUMMARY.md twice",
        "c.md is not in SUMMARY.md",
    ];
    assert_eq!(found(), faults);

    let names = named("see docs/mpi.md, `docs/internals/one-lock.md`#x, docs/ and docs/book.toml");
    assert_eq!(names, ["docs/internals/one-lock.md", "docs/mpi.md"].map(str::to_owned).into());
}
