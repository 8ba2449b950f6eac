//! The table as text for a terminal, and in Markdown for `docs/accuracy.md`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::row::Row;
use super::runs::Shown;

/// The heading above the programs' lines.
pub fn head() -> String {
    format!(
        "  {:<22}{:>8}{:>8}{:>7}{:>10}{:>10}{:>10}{:>7}",
        "", "idle", "busy", "place", "predicted", "at most", "measured", "cost"
    )
}

/// The line of a program, followed by its false findings.
pub fn text(row: &Row) -> String {
    let [idle, busy, place, promised, bound, measured, cost] = figures(row);
    let mut text = format!(
        "  {:<22}{idle:>8}{busy:>8}{place:>7}{promised:>10}{bound:>10}{measured:>10}{cost:>7}",
        row.known.name
    );
    for alarm in alarms(row) {
        let _ = write!(text, "\n      FALSE ALARM {alarm}");
    }
    text
}

/// A row for each program, as a Markdown table.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| program | version | what is wrong (source) | found, idle | busy | position in the list | predicted | at most | measured | recording costs |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let known = &row.known;
        let what = match known.has_problem() {
            true => format!("{} ({})", known.what, known.word),
            false => "nothing known".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {}{} | {} | {what} | {} |",
            known.name,
            if known.tuned { "*" } else { "" },
            known.version,
            figures(row).join(" | ")
        );
    }
    for row in rows {
        for alarm in alarms(row) {
            let _ = writeln!(text, "\n- {}: false: {alarm}", row.known.name);
        }
    }
    text
}

/// The figures of a program: in how many runs its problem was found on the idle and on the busy
/// machine, its position in the list of findings, the predicted gain, `whatif`'s bound, the
/// measured gain, and the cost of recording.
fn figures(row: &Row) -> [String; 7] {
    [
        found(row, &row.idle),
        found(row, &row.busy),
        place(&row.idle),
        share(row.idle.promised()),
        share(row.bound),
        share(row.idle.gain()),
        format!("{:.2}", row.idle.cost()),
    ]
}

fn found(row: &Row, shown: &Shown) -> String {
    match row.known.has_problem() {
        true => format!("{} of {}", shown.hits(), shown.verdicts.len()),
        false if shown.has_false_alarm() => "alarm".to_owned(),
        false => "quiet".to_owned(),
    }
}

/// The median position of the finding in the list, from 1; `-` if the problem was not found.
fn place(shown: &Shown) -> String {
    let mut places: Vec<usize> = shown.verdicts.iter().filter_map(|v| v.found).collect();
    places.sort_unstable();
    places.get(places.len() / 2).map_or("-".to_owned(), |place| (place + 1).to_string())
}

fn alarms(row: &Row) -> BTreeSet<&String> {
    let verdicts = row.idle.verdicts.iter().chain(&row.busy.verdicts);
    verdicts.flat_map(|verdict| &verdict.false_alarms).collect()
}

fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", (100.0 * share).round() + 0.0))
}
