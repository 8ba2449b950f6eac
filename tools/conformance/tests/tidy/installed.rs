//! The libraries that the command loads into programs are built and installed together with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::root;

/// The names of libraries in the command's source, such as `libsyncline_mpi.so`.
fn named(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            named(&path, names);
        } else {
            let text = fs::read_to_string(&path).expect("a source file");
            let quoted = text.split('"').filter(|part| part.starts_with("libsyncline_"));
            names.extend(quoted.filter(|part| part.ends_with(".so")).map(str::to_owned));
        }
    }
}

#[test]
fn all_libraries_of_the_command_are_built_and_installed() {
    let mut names = BTreeSet::new();
    named(&root().join("tools/cli/src"), &mut names);
    assert!(names.len() >= 7, "{names:?}");
    let read = |path| fs::read_to_string(root().join(path)).expect("a script");
    let (installs, builds) = (read("library/capi/packaging/install.sh"), read("x"));
    for name in names {
        assert!(installs.contains(&name), "install.sh does not install {name}");
        let crate_name = name.trim_start_matches("lib").trim_end_matches(".so").replace('_', "-");
        assert!(
            builds.contains(&format!("--package {crate_name}")),
            "x does not build {crate_name}"
        );
    }
}
