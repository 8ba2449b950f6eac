//! Tests of rules of the project that no compiler checks.

mod book;
mod circles;
mod dependencies;
mod imports;
mod installed;
mod licences;
mod packages;
mod sources;
mod unused;
mod voice;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the project.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("tools/conformance is two folders down").to_owned()
}

/// The folders of all crates in the workspace.
fn crates() -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let members = manifest["workspace"]["members"].as_array().expect("a list of rooms");
    let rooms = members.iter().map(|member| {
        let member = member.as_str().expect("a name");
        root().join(member.strip_suffix("/*").expect("a room has crates and nothing else"))
    });
    let mut crates: Vec<PathBuf> = rooms
        .flat_map(|room| fs::read_dir(room).expect("a room"))
        .map(|entry| entry.expect("a crate").path())
        .collect();
    crates.sort();
    crates
}

#[test]
fn the_readme_has_the_two_commands() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    for command in ["./x demo", "./x test"] {
        assert!(text.contains(command), "README.md does not mention `{command}`");
    }
}
