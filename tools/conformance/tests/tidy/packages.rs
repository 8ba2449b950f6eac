//! The crates that can be published have what a package registry needs: a description, keywords,
//! and a README whose links don't lead out of the package.
//!
//! `repository` is missing on purpose: there is no public address yet.

use std::fs;
use std::path::Path;

use crate::book::links;
use crate::crates;

/// The faults for which a registry would refuse the crate, or show an incomplete page for it.
fn faults(folder: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let package = &manifest["package"];
    let mut faults = Vec::new();
    for field in ["description", "license", "readme", "keywords", "categories"] {
        if package.get(field).is_none() {
            faults.push(format!("no {field}"));
        }
    }
    let words = package.get("keywords").and_then(|words| words.as_array());
    let words: Vec<&str> = words.into_iter().flatten().filter_map(|word| word.as_str()).collect();
    if words.len() > 5 || words.iter().any(|word| word.len() > 20 || word.contains(' ')) {
        faults.push(format!("keywords that a registry refuses: {words:?}"));
    }
    let readme = package.get("readme").and_then(|name| name.as_str()).unwrap_or("README.md");
    let text = fs::read_to_string(folder.join(readme)).unwrap_or_default();
    if text.is_empty() {
        faults.push(format!("no {readme}"));
    }
    for (line, target) in links(&text) {
        let leaves = Path::new(&target).iter().any(|part| part == "..");
        if !target.contains("://") && (leaves || !folder.join(&target).exists()) {
            faults.push(format!("{readme}:{line}: {target} is not in the package"));
        }
    }
    faults
}

#[test]
fn packages_are_whole() {
    let mut published = 0;
    for folder in crates() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if manifest.contains("publish = false") {
            continue;
        }
        published += 1;
        let faults = faults(&folder);
        assert!(faults.is_empty(), "{}: {faults:#?}", folder.display());
    }
    assert_eq!(published, 4);
}

#[test]
fn missing_package_fields_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = "[package]\nname = \"a\"\ndescription = \"b\"\nlicense.workspace = true\n\
                    readme = \"README.md\"\nkeywords = [\"two words\"]\n";
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a manifest");
    fs::write(folder.path().join("README.md"), "[a](../a.md) [b](b.md) [c](https://c.d)\n")
        .expect("a page");
    let expected = [
        "no categories",
        "keywords that a registry refuses: [\"two words\"]",
        "README.md:1: ../a.md is not in the package",
        "README.md:1: b.md is not in the package",
    ];
    assert_eq!(faults(folder.path()), expected);
}
