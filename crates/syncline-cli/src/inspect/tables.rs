//! Syncchar's Tables 2 and 3, of the locks that were traced.

use std::fmt::Write as _;

use syncline_analysis::report::number::{count, duration, percent};
use syncline_independence::{Lock, Report};

use super::lock::short_title;

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
            cut(&short_title(lock)),
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
            cut(&short_title(lock)),
            if lock.held_seconds > 0.0 { duration(lock.held_seconds) } else { "-".to_owned() },
            count(pairs.pairs),
            or_dash(percent(pairs.conflicting)),
            or_dash(format!("{:.1}", pairs.mean_conflicting_bytes)),
            or_dash(percent(share)),
        );
    }
    text
}

/// A name that fits its column: the end stays, which tells one place from another.
fn cut(name: &str) -> String {
    const END: usize = NAME / 2;
    let length = name.chars().count();
    if length <= NAME {
        return name.to_owned();
    }
    let (start, end) = (name.chars().take(NAME - END - 1), name.chars().skip(length - END));
    start.chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_the_column() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(NAME)), "x".repeat(NAME));
        assert_eq!(cut(&"é".repeat(NAME + 1)).chars().count(), NAME);
        let place = format!("2 locks taken at {}  queue.c:120", "f".repeat(NAME));
        assert!(cut(&place).starts_with("2 locks taken") && cut(&place).ends_with("  queue.c:120"));
    }
}
