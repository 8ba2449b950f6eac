//! The timeline: what it shows, and how keys move through it.

use serde_json::Value;

use crate::browser::Browser;
use crate::sample::{analysis, empty, page, server};

fn opened() -> Browser {
    let browser = Browser::start();
    browser.open(&page(&analysis(server())));
    browser.evaluate("document.querySelector('.view').scrollIntoView()");
    browser.until("document.querySelector('.view').dataset.to !== undefined");
    browser.evaluate("document.querySelector('.view').focus()");
    browser
}

/// The times at which the shown part of the run begins and ends, in seconds.
fn range(browser: &Browser) -> (f64, f64) {
    let read = |what| {
        let script = format!("Number(document.querySelector('.view').dataset.{what}) / 1e9");
        browser.evaluate(&script).as_f64().expect("a time")
    };
    (read("from"), read("to"))
}

fn status(browser: &Browser) -> String {
    let script = "document.querySelector('.timeline .status').textContent";
    browser.evaluate(script).as_str().expect("a text").to_owned()
}

/// The picture of the timeline, after the browser has drawn it.
fn drawn(browser: &Browser) -> Value {
    browser.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => \
         done(document.querySelector('.view canvas').toDataURL()))))",
    )
}

#[test]
fn keys_zoom_and_move() {
    let browser = opened();
    assert_eq!(range(&browser), (0.0, 8.0));
    let whole = drawn(&browser);
    browser.press("+");
    let (from, to) = range(&browser);
    assert!((from - 2.0).abs() < 1e-6 && (to - 6.0).abs() < 1e-6, "{from} to {to}");
    assert_ne!(drawn(&browser), whole);
    browser.press("ArrowRight");
    let (from, to) = range(&browser);
    assert!((from - 2.8).abs() < 1e-6 && (to - 6.8).abs() < 1e-6, "{from} to {to}");
    for _ in 0..10 {
        browser.press("ArrowRight");
    }
    assert_eq!(range(&browser).1, 8.0, "it stops at the end");
    browser.press("Home");
    assert_eq!(range(&browser), (0.0, 8.0));
    browser.press("-");
    assert_eq!(range(&browser), (0.0, 8.0));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn keys_choose_threads_and_waits() {
    let browser = opened();
    browser.press("ArrowDown");
    assert!(status(&browser).ends_with("worker 4712"), "{}", status(&browser));
    browser.press("Shift+ArrowRight");
    let first = status(&browser);
    assert!(first.contains("worker 4712 at 420") && first.contains("waited for a lock"), "{first}");
    assert!(first.contains("orders (server)") && first.contains("because of"), "{first}");
    browser.press("Shift+ArrowRight");
    assert!(status(&browser).contains("held a lock"), "{}", status(&browser));
    browser.press("Enter");
    let (from, to) = range(&browser);
    assert!(to - from < 0.02, "{from} to {to}");
    browser.picture("timeline-zoomed");
}

#[test]
fn colours_stand_for_what_threads_did() {
    let browser = opened();
    drawn(&browser);
    // The number of pixels of each colour in the picture.
    let count = |name: &str| {
        let script = format!(
            "(() => {{ const c = document.querySelector('.view canvas');\
             const x = document.createElement('canvas').getContext('2d');\
             x.fillStyle = getComputedStyle(c).getPropertyValue('--{name}'); x.fillRect(0, 0, 1, 1);\
             const want = x.getImageData(0, 0, 1, 1).data;\
             const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;\
             let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] === want[0] && d[i+1] === want[1] && d[i+2] === want[2];\
             return n; }})()"
        );
        browser.evaluate(&script).as_u64().expect("a number")
    };
    for (name, least) in [("run", 5_000), ("wait", 2_000), ("event", 10_000)] {
        assert!(count(name) > least, "{name}: {}", count(name));
    }
}

#[test]
fn the_table_has_the_same_numbers() {
    let browser = opened();
    let row = browser.evaluate("document.getElementById('p0-timeline-row1').textContent");
    assert!(row.as_str().is_some_and(|text| text.starts_with("worker 4712")), "{row}");
}

#[test]
fn the_page_of_a_recording_without_log_says_how_to_get_one() {
    let browser = Browser::start();
    browser.open(&page(&analysis(empty(&["/bin/true"]))));
    let text = browser.evaluate("document.getElementById('p0-timeline').innerText");
    assert!(text.as_str().is_some_and(|t| t.contains("syncline record --timeline")), "{text}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
