//! Prints results as a table, about 100 columns wide.

use crate::compare::{Change, Row, Verdict};

/// Prints rows as a table, with a heading at the beginning of each section.
pub fn print(baseline: &str, subject: &str, rows: &[Row]) {
    Table::new(baseline, subject).print(rows);
}

/// A table whose rows are printed as they become known.
pub struct Table<'a> {
    baseline: &'a str,
    subject: &'a str,
    section: &'static str,
}

impl<'a> Table<'a> {
    /// A table with these column headings.
    pub fn new(baseline: &'a str, subject: &'a str) -> Table<'a> {
        Table { baseline, subject, section: "" }
    }

    /// Prints further rows.
    pub fn print(&mut self, rows: &[Row]) {
        let Table { baseline, subject, .. } = *self;
        for row in rows {
            if row.section != self.section {
                self.section = row.section;
                println!("\n{}", self.section);
                println!(
                    "  {:<40}{baseline:>9}{subject:>9}{:>9}{:>18}{:>8}",
                    "", "change", "95 % interval", "aim"
                );
            }
            println!("{}", line(row));
        }
    }
}

fn line(row: &Row) -> String {
    let change = row.change();
    let shown = |value: f64| match row.measure.change {
        Change::Added => format!("{value:+.2}"),
        Change::Ratio => format!("{value:.3}"),
    };
    let interval = format!("{} .. {}", shown(change.low), shown(change.high));
    let aim = row.measure.aim.map(shown).unwrap_or_default();
    let verdict = match row.verdict() {
        Some(Verdict::Met) => "met",
        Some(Verdict::Missed) => "MISSED",
        Some(Verdict::Open) => "open",
        None => "",
    };
    let line = format!(
        "  {:<40}{:>9}{:>9}{:>9}  {interval:>16}{aim:>8}  {verdict}",
        format!("{}, {}", row.case, row.measure.label),
        figure(row.baseline()),
        figure(row.subject()),
        shown(change.median),
    );
    line.trim_end().to_owned()
}

/// Formats a figure with three significant digits, or with all digits before the decimal point if
/// these are more. A figure below 1 gets two decimal places.
fn figure(value: f64) -> String {
    let digits = match value.abs() {
        x if x < 10.0 => 2,
        x if x < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Measure;

    #[test]
    fn a_line_shows_medians_change_and_verdict() {
        let row = Row {
            section: "",
            case: "x264".into(),
            measure: Measure { label: "wall, s", change: Change::Ratio, aim: Some(1.01) },
            pairs: vec![(2.0, 2.0), (2.0, 2.002), (200.0, 201.0)],
            looks: 1,
        };
        let words: Vec<_> = line(&row).split_whitespace().map(str::to_owned).collect();
        let expected = "x264, wall, s 2.00 2.00 1.001 1.000 .. 1.005 1.010 met";
        assert_eq!(words.join(" "), expected);
        assert!(line(&row).len() <= 100);
    }
}
