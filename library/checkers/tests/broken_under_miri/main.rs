//! Checks that Miri finds the kinds of bugs that it is used for. One line of the library is broken
//! at a time, and the library's own tests for Miri must fail (`library/syncline/tests/miri`, which
//! `./x miri` runs on the intact library).
//!
//! Miri needs a nightly toolchain. Without one, this test says so and passes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A line of the library, its replacement, the test that must fail, and what Miri's message must
/// contain.
struct Broken {
    file: &'static str,
    line: &'static str,
    by: &'static str,
    test: &'static str,
    says: &'static str,
}

const BROKEN: [Broken; 5] = [
    // The next holder may not see what the previous one has done.
    Broken {
        file: "wait/spin.rs",
        line: "word.store(value, Release);",
        by: "word.store(value, core::sync::atomic::Ordering::Relaxed);",
        test: "locks::mcs::exclusive",
        says: "Data race detected",
    },
    // A value is freed while another thread still uses it.
    Broken {
        file: "table/growing/storage.rs",
        line: "unsafe { self.collector.retire(raw.as_ptr(), reclaim::<K, V>) }",
        by: "unsafe { reclaim::<K, V>(raw.as_ptr(), &self.collector) }",
        test: "tables::what_was_found_outlives_its_entry",
        says: "use-after-free",
    },
    // Each reader claims to be the only one.
    Broken {
        file: "rwlock/guards.rs",
        line: "unsafe { self.value.as_ref() }",
        by: "unsafe { &mut *self.value.as_ptr() }",
        test: "guards::readers_of_one_thread_share",
        says: "Borrows rules",
    },
    // No thread wakes the next waiter.
    Broken {
        file: "wait/park.rs",
        line: "M::unpark(address, Some(0), 1);",
        by: "let _ = address;",
        test: "locks::mcs::exclusive",
        says: "deadlock",
    },
    // A lock leaks its node.
    Broken {
        file: "memory/lazy.rs",
        line: "unsafe { M::free(node) }",
        by: "_ = node;",
        test: "locks::hmcs::exclusive",
        says: "memory leaked",
    },
];

fn miri_is_there() -> bool {
    let components = Command::new("rustup")
        .args(["component", "list", "--installed", "--toolchain", "nightly"])
        .output();
    components.is_ok_and(|output| {
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        ["miri", "rust-src"].iter().all(|name| list.lines().any(|line| line.starts_with(name)))
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A workspace with a copy of the library and nothing else. Its sources can be changed.
fn workspace() -> io::Result<TempDir> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = TempDir::new()?;
    copy(&root.join("library/syncline"), &folder.path().join("library/syncline"))?;
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock"))?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let lines = manifest.lines().map(|line| match line.starts_with("members =") {
        true => "members = [\"library/syncline\"]\n".to_owned(),
        false => format!("{line}\n"),
    });
    fs::write(folder.path().join("Cargo.toml"), lines.collect::<String>())?;
    Ok(folder)
}

/// Runs a test of the library under Miri; returns Miri's output, and whether the test passed.
fn interpret(workspace: &Path, test: &str) -> io::Result<(String, bool)> {
    let output = Command::new("cargo")
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", workspace.join("target"))
        .env("MIRIFLAGS", "-Zmiri-permissive-provenance")
        .args(["+nightly", "miri", "test", "--offline", "--package", "syncline"])
        .args(["--features", "lock_api", "--test", "miri", "--", "--exact", test])
        .output()?;
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    Ok((format!("{out}{errors}"), output.status.success()))
}

#[test]
fn what_is_broken_is_found() -> io::Result<()> {
    if !miri_is_there() {
        // Directly to standard error, since the harness captures what a test prints.
        return writeln!(io::stderr(), "skipped: there is no nightly toolchain with Miri");
    }
    let workspace = workspace()?;
    for Broken { file, line, by, test, says } in BROKEN {
        let path = workspace.path().join("library/syncline/src").join(file);
        let text = fs::read_to_string(&path)?;
        assert!(text.contains(line), "{file} has no line {line}");
        fs::write(&path, text.replace(line, by))?;
        let (report, passed) = interpret(workspace.path(), test)?;
        assert!(!passed && report.contains(says), "{file} with {by}: not found:\n{report}");
        fs::write(&path, text)?;
    }
    let (report, passed) = interpret(workspace.path(), BROKEN[0].test)?;
    assert!(passed, "the library as it is: {report}");
    Ok(())
}
