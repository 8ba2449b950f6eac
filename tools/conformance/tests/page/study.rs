//! The page of a study meets the same requirements as the page of a report.

use serde_json::json;
use syncline_study::lab::{Effort, Lab};
use syncline_study::target::Target;
use syncline_study::{page, study};

use crate::browser::Browser;
use crate::looks::assert_readable;

fn written() -> String {
    let targets = ["opteron", "tilera"].map(|name| Target::named(name).expect("it comes along"));
    let ids = ["table-2", "figure-4", "figure-6"].map(str::to_owned);
    let lab = Lab { effort: Effort::Small, seed: 1 };
    let book = study::run(&lab, &study::plans(&ids), &targets, |_, _| {});
    let titles: Vec<String> = targets.iter().map(Target::title).collect();
    let mut text = Vec::new();
    page::write(&book, &titles, &mut text).expect("memory takes it");
    String::from_utf8(text).expect("text")
}

#[test]
fn a_study_is_readable_in_light_and_dark_wide_and_narrow() {
    assert_readable(&written(), 100, "details", "study-");
}

#[test]
fn a_study_has_its_lines_and_bars_within_their_pictures() {
    let browser = Browser::start();
    browser.open(&written());
    let drawn = "document.querySelectorAll('.plot .line, .plot .column').length";
    assert!(browser.evaluate(drawn).as_u64() > Some(30), "lines of two machines, and bars");
    let outside = "[...document.querySelectorAll('.plot')].flatMap(plot => { \
        const box = plot.getBoundingClientRect(); \
        return [...plot.querySelectorAll('.line, .column, .mark, text')].filter(part => { \
            const b = part.getBoundingClientRect(); \
            return b.left < box.left - 1 || b.right > box.right + 1 \
                || b.top < box.top - 1 || b.bottom > box.bottom + 1; }) \
        .map(part => part.outerHTML); })";
    assert_eq!(browser.evaluate(outside), json!([]));
}
