//! Names that programs choose can't make the page do anything.

use syncline_analysis::model::*;
use syncline_recording::Primitive;

use crate::browser::Browser;
use crate::sample::{analysis, figures, frame, lock, page, server, thread};

/// A name that ends any context that it may be written in, and sets `hacked` if it can run as a
/// script.
const EVIL: &str = "</script></style></title>\"'--><img src=x onerror=\"hacked=1\"><svg onload=hacked=1>\
                    <script>hacked=1</script>\u{2028}${hacked=1}`\\";

fn evil() -> Process {
    let mut p = server();
    p.executable = EVIL.into();
    p.arguments = vec![EVIL.into(), EVIL.into()];
    p.frames = vec![frame(EVIL, EVIL, 7); p.frames.len()];
    p.modules[0].path = EVIL.into();
    p.sites.iter_mut().for_each(|site| site.place = EVIL.into());
    p.threads.iter_mut().for_each(|thread| thread.name = EVIL.into());
    p.threads.iter_mut().skip(1).for_each(|thread| thread.start_function = Some(EVIL.into()));
    for n in 0..150 {
        p.threads.push(thread(100 + n, EVIL, Some(EVIL), Waiting::default()));
    }
    p.locks.iter_mut().for_each(|lock| lock.name = EVIL.into());
    p.locks[0].beside = vec![EVIL.into()];
    for n in 0..150 {
        p.locks.push(lock(n, EVIL, Primitive::Mutex, figures(0.0, 0.0, 1.0), &[0]));
    }
    for one in &mut p.remaining {
        (one.what, one.place, one.why) = (EVIL.into(), EVIL.into(), EVIL.into());
    }
    for finding in &mut p.findings {
        (finding.title, finding.place, finding.advice) = (EVIL.into(), EVIL.into(), EVIL.into());
        finding.evidence.push(Evidence { what: EVIL.into(), value: f64::NAN, unit: Unit::Times });
        let recorded = Recorded { recording: EVIL.into(), program: vec![EVIL.into()] };
        let command = Answer::Inspect(Some(recorded));
        finding.open_question = Some(OpenQuestion { question: EVIL.into(), command });
    }
    p.notes.push(Note::ChangedModule { path: EVIL.into() });
    p
}

#[test]
fn malicious_names_are_only_text() {
    let browser = Browser::start();
    browser.open(&page(&analysis(evil())));
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
    for button in ["[data-more=all]", "#p0-locks th button", "#p0-threads th button"] {
        browser.evaluate(&format!("document.querySelectorAll('{button}').forEach(b => b.click())"));
    }
    browser.evaluate("document.querySelectorAll('.timeline').forEach(t => t.scrollIntoView())");
    browser.until("document.querySelector('.view').dataset.to !== undefined");
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
    assert_eq!(browser.evaluate("document.querySelectorAll('img, svg[onload]').length"), 0);
    assert_eq!(
        browser.evaluate(
            "document.scripts.length > 0 && document.title.startsWith(\"Syncline: '</script>\")"
        ),
        true
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let title = browser.evaluate("document.querySelector('#p0-finding-0 h3').textContent");
    assert_eq!(title, EVIL);
}

#[test]
fn the_content_policy_blocks_injected_scripts() {
    let browser = Browser::start();
    browser.open(&page(&analysis(server())));
    browser.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"file:///x\" onerror=\"hacked=1\">\
         <i onclick=\"hacked=1\" id=i></i>'); document.getElementById('i').click();\
         const s = document.createElement('script'); s.textContent = 'hacked=1'; document.body.append(s);",
    );
    browser.until("performance.now() > 300");
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
    let complaints = browser.complaints().join("\n");
    assert!(complaints.contains("Content Security Policy"), "{complaints}");
    let refused =
        browser.evaluate("fetch('https://localhost/').then(() => 'sent', () => 'refused')");
    assert_eq!(refused, "refused");
}
