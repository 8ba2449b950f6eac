//! What the tests of the benchmarks run.

use std::path::Path;
use std::process::Command;

/// The benchmarks.
pub const EXECUTABLE: &str = env!("CARGO_BIN_EXE_syncline-bench");

/// Cargo builds the executable of this crate for its tests, but not the `syncline` command
/// and the preloaded libraries that it needs beside it.
pub fn build_what_is_measured() {
    let profile_folder = Path::new(EXECUTABLE).parent().unwrap();
    let target = profile_folder.parent().unwrap();
    let profile = match profile_folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        named => named,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.arg("build");
    let packages = [
        "syncline-cli",
        "syncline-preload",
        "syncline-inspect",
        "syncline-replace",
        "syncline-capi",
    ];
    for package in packages {
        cargo.args(["--package", package]);
    }
    cargo.args(["--profile", profile, "--target-dir"]).arg(target);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
