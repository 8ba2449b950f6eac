//! Syncchar's Tables 2 and 3, of the locks that were traced.

use std::fmt::Write as _;

use syncline_analysis::report::number::{count, percent};
use syncline_independence::{Lock, Report};

use super::show::title;

/// Rows of Table 2.
const CONTENDED: usize = 15;
/// Rows of Table 3.
const HELD: usize = 10;
/// Columns for a lock's name.
const NAME: usize = 40;

/// The most contended locks: of those sections that waited, how many conflict with what they
/// waited for (Table 2).
pub fn contended(report: &Report) -> String {
    let mut locks: Vec<&Lock> = report.locks.iter().filter(|lock| lock.contended > 0).collect();
    locks.sort_by_key(|lock| std::cmp::Reverse(lock.contended));
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<NAME$} {:>9} {:>9} {:>7} {:>9} {:>9} {:>11}",
        "most contended locks",
        "acquired",
        "contended",
        "",
        "conflicts",
        "set bytes",
        "conflicting"
    );
    for lock in locks.iter().take(CONTENDED) {
        let pairs = &lock.contended_pairs;
        let compared = pairs.pairs > 0;
        let or_dash = |text: String| if compared { text } else { "-".to_owned() };
        let _ = writeln!(
            text,
            "{:<NAME$} {:>9} {:>9} {:>7} {:>9} {:>9} {:>11}",
            cut(&title(lock)),
            count(lock.acquisitions),
            count(lock.contended),
            percent(lock.contended as f64 / lock.acquisitions.max(1) as f64),
            or_dash(percent(pairs.conflicting_sections)),
            or_dash(format!("{:.0}", pairs.mean_set_bytes)),
            or_dash(format!("{:.0}", pairs.mean_conflicting_bytes)),
        );
    }
    if locks.is_empty() {
        text.push_str("none was waited for\n");
    }
    text
}

/// The locks that were held longest, each section against the last ones of its lock (Table 3).
pub fn window(report: &Report) -> String {
    let mut text = String::new();
    let heading = format!("longest held locks, window of {}", report.window);
    let _ = writeln!(
        text,
        "{heading:<NAME$} {:>9} {:>9} {:>9} {:>11} {:>7}",
        "held", "pairs", "conflicts", "conflicting", "of set"
    );
    for lock in report.locks.iter().take(HELD) {
        let pairs = &lock.window;
        let share = match pairs.mean_set_bytes {
            0.0 => 0.0,
            set => pairs.mean_conflicting_bytes / set,
        };
        let or_dash = |text: String| if pairs.pairs > 0 { text } else { "-".to_owned() };
        let _ = writeln!(
            text,
            "{:<NAME$} {:>9} {:>9} {:>9} {:>11} {:>7}",
            cut(&title(lock)),
            syncline_analysis::report::number::duration(lock.held_seconds),
            count(pairs.pairs),
            or_dash(percent(pairs.conflicting)),
            or_dash(format!("{:.1}", pairs.mean_conflicting_bytes)),
            or_dash(percent(share)),
        );
    }
    text
}

/// A name that fits its column.
fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_the_column() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(NAME)), "x".repeat(NAME));
        assert_eq!(cut(&"é".repeat(NAME + 1)).chars().count(), NAME);
    }
}
