//! The look of the page: in light and in dark, wide and narrow, on paper and without scripts.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;
use syncline_conformance::scratch;

use crate::browser::Browser;
use crate::sample::{analysis, page, server, with_sources};

#[test]
fn the_page_is_readable_in_light_and_dark_wide_and_narrow() {
    let folder = scratch();
    let page = page(&analysis(with_sources(server(), folder.path())));
    assert_readable(&page, 500, "td details", "");
}

/// Checks that a page is readable in light and in dark, wide and narrow. The page must fit the
/// window, and the contrast of more than `texts` pieces of text is checked. Stores pictures of the
/// page, with the `details` elements that match the selector `closed` closed. The pictures' names
/// begin with `picture`.
pub fn assert_readable(page: &str, texts: u64, closed: &str, picture: &str) {
    let browser = Browser::start();
    for (dark, scheme) in [(false, "light"), (true, "dark")] {
        browser.dark(dark);
        for (width, name) in [(1280, "wide"), (400, "narrow")] {
            browser.size(width, 900);
            browser.open(page);
            assert_eq!(browser.complaints(), Vec::<String>::new());
            let too_wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
            assert_eq!(too_wide, 0, "at {width}");
            browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
            let contrast = browser.evaluate(include_str!("contrast.js"));
            assert!(contrast["seen"].as_u64() > Some(texts), "{contrast}");
            assert_eq!(contrast["faults"], json!([]), "{scheme}");
            browser.evaluate(&format!(
                "document.querySelectorAll('{closed}').forEach(d => d.open = false)"
            ));
            browser.picture(&format!("{picture}{scheme}-{name}"));
        }
    }
}

#[test]
fn nothing_moves_while_it_loads() {
    let browser = Browser::start();
    browser.open(&page(&analysis(server())));
    let moved = browser.evaluate(
        "new Promise(done => new PerformanceObserver(list => done(list.getEntries().reduce(\
         (sum, entry) => sum + entry.value, 0))).observe({type: 'layout-shift', buffered: true}) \
         || setTimeout(() => done(0), 500))",
    );
    assert!(moved.as_f64() < Some(0.01), "{moved}");
}

#[test]
fn printed_pages_have_rows_and_no_controls() {
    let browser = Browser::start();
    browser.open(&page(&analysis(server())));
    let features = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
    let paper = json!({"media": "print", "features": features});
    browser.call("Emulation.setEmulatedMedia", paper);
    let ink = browser.evaluate("getComputedStyle(document.querySelector('h1')).color");
    assert_eq!(ink, "rgb(26, 34, 48)", "dark on white, whatever the screen prefers");
    for tool in ["nav", ".search", ".tools", ".copy", ".more"] {
        let visible = format!("document.querySelector('{tool}').checkVisibility()");
        assert_eq!(browser.evaluate(&visible), false, "{tool}");
    }
    let cut = "[...document.querySelectorAll('.table .scroll')].filter(s => s.checkVisibility() && \
               s.scrollHeight > s.clientHeight + 1).map(s => s.ariaLabel)";
    assert_eq!(browser.evaluate(cut), json!([]));
}

#[test]
fn without_scripts_only_the_controls_are_missing() {
    let browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&page(&analysis(server())));
    for tool in [".search", ".more", ".copy", ".timeline"] {
        let visible = format!("document.querySelector('{tool}').checkVisibility()");
        assert_eq!(browser.evaluate(&visible), false, "{tool}");
    }
    let text = browser.evaluate("document.body.innerText");
    let text = text.as_str().expect("text");
    for part in ["One lock over a whole table", "orders (server)", "The first 100 of 916 locks"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(browser.evaluate("document.querySelectorAll('#p0-locks tbody tr').length"), 100);
}

#[test]
fn a_finding_shows_its_source_and_says_when_that_changed() {
    let folder = scratch();
    let process = with_sources(server(), folder.path());
    let browser = Browser::start();
    browser.open(&page(&analysis(process.clone())));
    let marked = browser.evaluate("document.querySelector('#p0-finding-0 mark').innerText");
    assert_eq!(marked, "  118 line 118 of <table.cpp>\n".trim_end());
    let caption = "document.querySelector('#p0-finding-0 figcaption').innerText";
    let clean = browser.evaluate(caption);
    assert!(clean.as_str().is_some_and(|text| text.ends_with("table.cpp:118")), "{clean}");

    let later = SystemTime::now() + Duration::from_secs(60);
    let source = fs::File::options().append(true).open(folder.path().join("src/table.cpp"));
    source.and_then(|file| file.set_modified(later)).expect("the source can be touched");
    browser.open(&page(&analysis(process)));
    let doubted = browser.evaluate(caption);
    assert!(doubted.as_str().is_some_and(|text| text.contains("changed since")), "{doubted}");
}
