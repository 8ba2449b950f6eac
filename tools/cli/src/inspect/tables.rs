//! Tables 2 and 3 of the Syncchar paper, for the traced locks.

use syncline_conflicts::{Lock, Report};
use syncline_present::number::{count, duration, percent};
use syncline_present::terminal::{Cell, Style, cell, table};

use super::lock::short_title;

/// The most rows of Table 2.
pub const CONTENDED: usize = 15;
/// The most rows of Table 3.
pub const HELD: usize = 10;
/// The titles of Table 2's columns.
pub const CONTENDED_TITLES: [&str; 7] = [
    "acquired",
    "contended",
    "share",
    "conflicts",
    "set bytes",
    "conflicting",
    "most contended locks",
];

/// Table 2, the most contended locks. It says how many of the sections that waited for another
/// section conflict with that section.
pub fn contended(report: &Report, style: &Style) -> String {
    let mut locks: Vec<&Lock> = report.locks.iter().filter(|lock| lock.contended > 0).collect();
    locks.sort_by_key(|lock| std::cmp::Reverse(lock.contended));
    if locks.is_empty() {
        return "  no thread waited for a lock\n".to_owned();
    }
    let row = |lock: &&Lock| {
        let pairs = &lock.contended_pairs;
        let compared = |text: String| or_dash(text, pairs.pairs > 0);
        [
            cell(count(lock.acquisitions)),
            cell(count(lock.contended)),
            cell(percent(lock.contended as f64 / lock.acquisitions.max(1) as f64)),
            compared(percent(pairs.conflicting_sections)),
            compared(format!("{:.0}", pairs.mean_set_bytes)),
            compared(format!("{:.0}", pairs.mean_conflicting_bytes)),
            cell(short_title(lock)),
        ]
    };
    written(style, CONTENDED_TITLES, locks.iter().take(CONTENDED).map(row).collect())
}

/// Table 3, the locks that were held longest. Each of their sections is compared with the last
/// sections of its lock.
pub fn window(report: &Report, style: &Style) -> String {
    let row = |lock: &Lock| {
        let pairs = &lock.window;
        let share = match pairs.mean_set_bytes {
            0.0 => 0.0,
            set => pairs.mean_conflicting_bytes / set,
        };
        let compared = |text: String| or_dash(text, pairs.pairs > 0);
        [
            or_dash(duration(lock.held_seconds), lock.held_seconds > 0.0),
            cell(count(pairs.pairs)),
            compared(percent(pairs.conflicting)),
            compared(format!("{:.1}", pairs.mean_conflicting_bytes)),
            compared(percent(share)),
            cell(short_title(lock)),
        ]
    };
    let locks = format!("held longest (window {})", report.window);
    let titles = ["held", "pairs", "conflicts", "conflicting", "of set", &locks];
    written(style, titles, report.locks.iter().take(HELD).map(row).collect())
}

/// A cell with this text or, if the value is unknown, with a dash.
pub fn or_dash(text: String, is_known: bool) -> Cell {
    if is_known { cell(text) } else { cell("-") }
}

/// Formats a table as text.
pub fn written<const N: usize>(style: &Style, titles: [&str; N], rows: Vec<[Cell; N]>) -> String {
    let mut text = Vec::new();
    table::write(&mut text, style, titles, rows).expect("memory takes all");
    String::from_utf8(text).expect("cells are text")
}
