//! Tests the HTML page of a real run, from `syncline record --timeline` to the browser.

use std::fs;
use std::process::Command;

use syncline_conformance::{Case, Program, scratch, syncline};

use crate::browser::Browser;

#[test]
fn a_recording_with_a_timeline_is_shown() {
    let folder = scratch();
    let program = Program::compile("holder.c");
    Case::new(&program).option("--timeline").recorded_to(folder.path()).assert_status(0);
    let path = folder.path().join("page.html");
    let mut report = Command::new(syncline());
    report.arg("report").arg(folder.path().join("recording")).arg("--html").arg(&path);
    let output = report.output().expect("syncline runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let browser = Browser::start();
    browser.open(&fs::read_to_string(&path).expect("the page"));
    for (section, name) in [("call-sites", "victim"), ("who-blocks-whom", "slow_holder")] {
        let script = format!("document.getElementById('p0-{section}').innerText");
        let text = browser.evaluate(&script);
        assert!(text.as_str().is_some_and(|t| t.contains(name)), "{name} in {text}");
    }
    browser.evaluate("document.querySelector('.view').scrollIntoView()");
    browser.until("document.querySelector('.view').dataset.to !== undefined");
    let said = browser.evaluate(
        "(() => { const found = new Set(); const all = JSON.parse(document.querySelector(\
         '.timeline script').textContent); for (const t of all.threads) for (let i = 2; \
         i < t.pieces.length; i += 8) found.add(t.pieces[i]); return [...found].sort(); })()",
    );
    let kinds = said.as_array().expect("kinds");
    assert!(kinds.contains(&0.into()) && kinds.contains(&3.into()), "waits and holds: {said}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.picture("recorded");
}
