//! The page is usable without a mouse and with a screen reader.

use serde_json::Value;

use crate::browser::Browser;
use crate::sample::{analysis, page, server};

fn opened() -> Browser {
    let browser = Browser::start();
    browser.open(&page(&analysis(server())));
    browser
}

/// Presses Tab until the focus is on an element that matches a selector.
#[track_caller]
fn tab_to(browser: &Browser, selector: &str) {
    for _ in 0..500 {
        browser.press("Tab");
        if browser.evaluate(&format!("document.activeElement.matches({selector:?})")) == true {
            return;
        }
    }
    panic!("Tab does not reach {selector}");
}

/// The first column of a section's table, in the order shown.
fn names(browser: &Browser, section: &str) -> Vec<Value> {
    let script = format!(
        "[...document.querySelectorAll('#p0-{section} > .table tbody tr')].map(r => r.cells[0].innerText.trim())"
    );
    browser.evaluate(&script).as_array().expect("names").clone()
}

#[test]
fn the_first_stop_skips_to_the_findings() {
    let browser = opened();
    browser.press("Tab");
    assert_eq!(browser.evaluate("document.activeElement.className"), "skip");
    let top = "document.activeElement.getBoundingClientRect().top >= 0";
    assert_eq!(browser.evaluate(top), true, "it can be seen");
    browser.press("Enter");
    browser.until("location.hash === '#p0-findings'");
    browser.press("Tab");
    let inside = "document.getElementById('p0-findings').contains(document.activeElement)";
    assert_eq!(browser.evaluate(inside), true);
}

#[test]
fn every_keyboard_stop_is_visible() {
    let browser = opened();
    let mut stops = 0;
    loop {
        browser.press("Tab");
        let state = browser.evaluate(
            "(() => { const e = document.activeElement; if (e === document.body) return null;\
             const s = getComputedStyle(e), r = e.querySelector('rect');\
             const marked = s.outlineStyle !== 'none' || (r && getComputedStyle(r).strokeWidth === '2.5px');\
             return marked ? 'good' : e.outerHTML.slice(0, 200); })()",
        );
        if state.is_null() || stops > 600 {
            break;
        }
        stops += 1;
        assert_eq!(state, "good");
    }
    assert!((100..600).contains(&stops), "{stops} stops");
}

#[test]
fn enter_on_a_title_sorts_by_it() {
    let browser = opened();
    let by_waiting = names(&browser, "sites");
    let before = names(&browser, "call-sites");
    assert!(by_waiting.is_empty() && before.len() == 7);
    tab_to(&browser, "#p0-call-sites th:nth-child(9) button");
    browser.press("Enter");
    let order =
        "document.querySelector('#p0-call-sites th:nth-child(9)').getAttribute('aria-sort')";
    assert_eq!(browser.evaluate(order), "descending");
    let most = names(&browser, "call-sites");
    assert_ne!(most, before);
    assert_eq!(most[0], "shop::Counter::add counter.h:23");
    browser.press("Enter");
    assert_eq!(browser.evaluate(order), "ascending");
    let least = names(&browser, "call-sites");
    assert_eq!(least[0], "shop::Table::resize table.cpp:201");
    let focus = "document.activeElement.matches('#p0-call-sites th:nth-child(9) button')";
    assert_eq!(browser.evaluate(focus), true, "the focus stays");
}

#[test]
fn a_filter_keeps_the_rows_that_have_the_words() {
    let browser = opened();
    tab_to(&browser, "#p0-call-sites input");
    browser.type_text("TABLE.cpp");
    browser.until("document.querySelectorAll('#p0-call-sites tbody tr').length === 3");
    let shown = browser.evaluate("document.querySelector('#p0-call-sites output').textContent");
    assert_eq!(shown, "3 of 7 call sites");
    // If a link leads to a row that the filter hides, following the link shows the row again.
    browser.evaluate("document.querySelector(\".graph a[href='#p0-site-3']\").focus()");
    browser.press("Enter");
    browser.until("document.querySelector('#p0-site-3 details')?.open === true");
    let focus = "document.getElementById('p0-site-3').contains(document.activeElement)";
    assert_eq!(browser.evaluate(focus), true);
}

#[test]
fn arrow_keys_name_the_points_of_the_quadrants() {
    let browser = opened();
    tab_to(&browser, ".quadrants svg");
    let status = "document.querySelector('.quadrants .status').textContent";
    browser.press("ArrowRight");
    let first = browser.evaluate(status);
    assert!(first.as_str().is_some_and(|t| t.contains("waited")), "{first}");
    browser.press("ArrowRight");
    assert_ne!(browser.evaluate(status), first);
    browser.press("ArrowLeft");
    assert_eq!(browser.evaluate(status), first);
}

#[test]
fn usable_elements_have_accessible_names() {
    let browser = opened();
    browser.call("Accessibility.enable", serde_json::json!({}));
    let tree = browser.call("Accessibility.getFullAXTree", serde_json::json!({}));
    let roles = ["button", "link", "searchbox", "textbox", "application", "region", "image", "img"];
    let mut seen = 0;
    for node in tree["nodes"].as_array().expect("nodes") {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if node["ignored"] == true || !roles.contains(&role) {
            continue;
        }
        seen += 1;
        assert!(node["name"]["value"].as_str().is_some_and(|n| !n.trim().is_empty()), "{node}");
    }
    assert!(seen > 50, "{seen}");
}
