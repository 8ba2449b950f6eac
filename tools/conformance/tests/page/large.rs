//! Pages of large recordings stay small, open quickly and can be used.

use std::time::{Duration, Instant};

use syncline_analysis::model::*;
use syncline_recording::{Op, Primitive};

use crate::browser::Browser;
use crate::sample::{analysis, figures, lock, page, server, thread};

const LOCKS: usize = 26_000;

/// The largest page that an e-mail can carry, in bytes.
const LARGEST: usize = 10_000_000;

/// The longest time that a browser on a busy machine may take to open or sort a page: ten times
/// what it should need.
const PATIENCE: Duration = Duration::from_secs(20);

fn large() -> Process {
    let mut p = server();
    for n in 0..(LOCKS - p.locks.len()) as u64 {
        let name = format!("mutex created at bucket.cpp:{}", 100 + n % 7);
        let figures = figures((n % 1000) as f64 * 1e-9, (n % 50) as f64 * 1e-4, (n % 997) as f64);
        p.locks.push(lock(0x7f00_0000_0000 + 40 * n, &name, Primitive::Mutex, figures, &[4, 5]));
    }
    for n in 0..4000 {
        p.threads.push(thread(100 + n, "runner", Some("run"), Waiting::default()));
    }
    let spans = |thread: usize| {
        let span = move |n: usize| Span {
            began: 0.5 + n as f64 * 7e-4 + thread as f64 * 1e-6,
            ended: 0.5 + n as f64 * 7e-4 + 4e-4,
            activity: if n.is_multiple_of(2) { Activity::Wait } else { Activity::Hold },
            op: Op::MutexLock,
            lock: Some(n % LOCKS),
            site: Some(0),
            stack: 1,
            by: Some(2),
            interrupted: false,
        };
        (0..10_000).map(span).collect()
    };
    p.timeline.threads = (0..200).map(spans).collect();
    p
}

#[test]
fn twenty_six_thousand_locks_open_quickly() {
    let page = page(&analysis(large()));
    assert!(page.len() < LARGEST, "{} bytes", page.len());
    let browser = Browser::start();
    let start = Instant::now();
    browser.open(&page);
    let opened = start.elapsed();
    assert!(opened < PATIENCE, "{opened:?} to open");
    let elements = "document.querySelectorAll('*').length";
    assert!(browser.evaluate(elements).as_u64() < Some(20_000));

    let start = Instant::now();
    browser.evaluate("document.querySelector('#p0-locks [data-more=all]').click()");
    browser.evaluate("document.querySelector('#p0-locks th:nth-child(7) button').click()");
    let sorted = start.elapsed();
    assert!(sorted < PATIENCE, "{sorted:?} to sort");
    assert!(browser.evaluate(elements).as_u64() < Some(20_000), "rows are made when needed");
    let last = "(() => { const s = document.querySelector('#p0-locks .scroll');\
                s.scrollTop = s.scrollHeight; return s.querySelectorAll('tbody tr').length; })()";
    let before = browser.evaluate(last).as_u64();
    browser.until(&format!(
        "document.querySelectorAll('#p0-locks tbody tr').length > {}",
        before.unwrap()
    ));

    browser.evaluate("document.querySelector('.timeline').scrollIntoView()");
    browser.until("document.querySelector('.view').dataset.to !== undefined");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The page has the first rows of a table as text, and the script formats the others. The formats
/// must be the same. The script has only five digits of each number, so a number may round
/// differently from the one in the page's text.
#[test]
fn the_script_writes_numbers_as_the_page_does() {
    let browser = Browser::start();
    browser.open(&page(&analysis(large())));
    let different = browser.evaluate(
        "[...document.querySelectorAll('.table')].flatMap(box => { const f = \
         [...box.querySelectorAll('th')].map(t => t.dataset.f); \
         return [...box.querySelectorAll('tbody td.n')].filter(c => Number(c.dataset.v) >= 0 && \
         ![1, 0.9999, 1.0001].some(near => FORMATS[f[c.cellIndex]](near * c.dataset.v) === c.textContent))\
         .map(c => c.dataset.v + ' ' + c.textContent); })",
    );
    assert_eq!(different, serde_json::json!([]));
    let compared = browser.evaluate("document.querySelectorAll('.table tbody td.n').length");
    assert!(compared.as_u64() > Some(1000), "{compared}");
    let named = "document.querySelector('#p0-locks .search input')";
    browser.evaluate(&format!(
        "{named}.value = 'bucket.cpp:103'; {named}.dispatchEvent(new Event('input'))"
    ));
    browser.until("document.querySelector('#p0-locks output').textContent.includes('of')");
    let row = browser.evaluate(
        "[...document.querySelector('#p0-locks tbody tr').cells].map(c => c.textContent).join('|')",
    );
    assert!(row.as_str().is_some_and(|r| r.starts_with("mutex created at bucket.cpp:103") && r.contains("0x7f")), "{row}");
}
