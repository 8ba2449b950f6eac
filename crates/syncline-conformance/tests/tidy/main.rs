//! Rules of the project that no compiler holds.

mod dependencies;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

/// The project's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/syncline-conformance is two folders down").to_owned()
}

/// The folders of our crates.
fn crates() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("crates")).expect("the crates");
    let folders = entries.map(|e| e.expect("a crate").path());
    let mut crates: Vec<_> = folders.filter(|f| f.join("Cargo.toml").exists()).collect();
    crates.sort();
    assert!(crates.len() >= 4, "only {crates:?}");
    crates
}

#[test]
fn the_readme_has_the_two_commands() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    for command in ["./x demo", "./x test"] {
        assert!(text.contains(command), "README.md does not mention `{command}`");
    }
}
