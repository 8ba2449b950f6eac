//! Chromium without a screen prints the same page to a pipe with and without Syncline. Then the
//! pipe closes, and none of Chromium's dozen processes is left running.
//!
//! Chromium interposes functions of its own, such as an allocator and `close`, and these acquire
//! Chromium's locks. The first lock of its crash handler is acquired in one of these functions.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{
    eventually, inspect_library, preload_library, replace_library, run_limited, scratch, syncline,
};

use crate::installed;

#[test]
fn chromium_recorded() {
    preload_library();
    assert_same_page(&["record", "-o"]);
}

#[test]
fn chromium_with_other_locks() {
    replace_library();
    assert_same_page(&["exec", "--lock", "gate"]);
}

#[test]
fn chromium_inspected() {
    inspect_library();
    assert_same_page(&["inspect", "-o"]);
}

const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --dump-dom";

/// `| cat` ends when no process can write to the pipe any longer.
const STEPS: &str = "set -o pipefail; \"$@\" | cat";

/// Checks that Chromium prints the same page by itself and under the Syncline command with these
/// words, whose own output may follow the page. If the last word is `-o`, a folder is appended.
fn assert_same_page(words: &[&str]) {
    let plain = page(|_| Vec::new());
    assert!(plain.contains("made by a script"), "{plain}");
    let ours = page(|folder| {
        let mut under = vec![syncline().into_os_string()];
        under.extend(words.iter().map(Into::into));
        if words.ends_with(&["-o"]) {
            under.push(folder.join("kept").into());
        }
        under.push("--".into());
        under
    });
    assert_eq!(plain, ours[..plain.len().min(ours.len())]);
}

/// Runs Chromium under the command that `under` returns for a folder, or by itself if that command
/// is empty. Returns the output, which begins with the page as the page's script has left it.
fn page(under: impl FnOnce(&Path) -> Vec<std::ffi::OsString>) -> String {
    let chromium = installed("/usr/bin/chromium", "chromium");
    let folder = scratch();
    let page = folder.path().join("page.html");
    let script = "document.body.append('made by a script')";
    fs::write(&page, format!("<p>text<script>{script}</script>")).expect("a page");
    let mut command = Command::new("/bin/bash");
    command.args(["-c", STEPS, "bash"]).args(under(folder.path())).arg(chromium.path());
    command.args(OPTIONS.split_whitespace()).arg(&page);
    // Chromium writes its user data to this folder, and the test recognises Chromium's processes by
    // the folder's name.
    command.env("HOME", folder.path()).env_remove("XDG_CONFIG_HOME");
    let outcome = run_limited(&mut command, Duration::from_secs(60));
    outcome.assert_status(0);
    eventually("the end of all processes", || (!names(folder.path().as_os_str())).then_some(()));
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// Whether the arguments of any running process contain this text.
fn names(text: &OsStr) -> bool {
    let text = text.as_encoded_bytes();
    let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let mut arguments =
        processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments.any(|words| words.windows(text.len()).any(|part| part == text))
}
