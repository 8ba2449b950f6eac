//! Prints the progress during the runs, and then a table, the differences, and a line of JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use serde::Serialize;

use crate::expected::Expectations;
use crate::verdict::{Difference, Row, Verdict};
use crate::ways::Way;

/// The number of programs with each verdict. A program that is counted in `expected` is also
/// counted in `differ` or `hang`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    same: usize,
    differ: usize,
    hang: usize,
    expected: usize,
    unstable: usize,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict, is_expected: bool) {
        match verdict {
            Verdict::Same => self.same += 1,
            Verdict::Unstable => self.unstable += 1,
            Verdict::Differs(difference) => {
                self.hang += usize::from(difference.hangs);
                self.differ += usize::from(!difference.hangs);
                self.expected += usize::from(is_expected);
            }
        }
    }

    fn unexpected(&self) -> usize {
        self.differ + self.hang - self.expected
    }
}

/// Everything that is printed after the runs.
#[derive(Debug)]
pub struct Report {
    /// The counts for each suite and each way; the key has the way's index in `ways`.
    table: BTreeMap<(String, usize), Counts>,
    ways: Vec<String>,
    /// The differences that are not in the file of expected ones.
    unexpected: Entries,
    expected: Entries,
    unstable: Vec<String>,
    no_longer: Vec<String>,
    programs: usize,
}

/// Sentences, each with the ways that it is about.
type Entries = BTreeMap<String, Vec<String>>;

/// The last line of the output, as JSON.
#[derive(Serialize)]
struct Summary {
    programs: usize,
    ways: usize,
    #[serde(flatten)]
    counts: Counts,
    unexpected: usize,
    no_longer: usize,
}

impl Report {
    /// Counts the verdicts.
    pub fn new(rows: &[Row], ways: &[Way], expectations: &Expectations) -> Report {
        let no_longer =
            expectations.no_longer(rows, ways).iter().map(ToString::to_string).collect();
        let mut report = Report {
            table: BTreeMap::new(),
            ways: ways.iter().map(Way::name).collect(),
            unexpected: BTreeMap::new(),
            expected: BTreeMap::new(),
            unstable: Vec::new(),
            no_longer,
            programs: rows.len(),
        };
        for row in rows {
            let name = row.program.name();
            if row.verdicts.contains(&Verdict::Unstable) {
                report.unstable.push(name.clone());
            }
            for (number, (verdict, way)) in row.verdicts.iter().zip(ways).enumerate() {
                let about = expectations.about(&name, way);
                let cell = (row.program.suite.clone(), number);
                report.table.entry(cell).or_default().add(verdict, about.is_some());
                let Verdict::Differs(difference) = verdict else { continue };
                let (list, text) = match about {
                    Some(line) => (&mut report.expected, format!("{name}: {}", line.reason)),
                    None => (&mut report.unexpected, sentence(&name, difference)),
                };
                list.entry(text).or_default().push(way.name());
            }
        }
        report
    }

    /// Whether there is a difference that is not expected.
    pub fn has_unexpected(&self) -> bool {
        !self.unexpected.is_empty()
    }

    fn summary(&self) -> Summary {
        let mut counts = Counts::default();
        for cell in self.table.values() {
            counts.same += cell.same;
            counts.differ += cell.differ;
            counts.hang += cell.hang;
            counts.expected += cell.expected;
            counts.unstable += cell.unstable;
        }
        Summary {
            programs: self.programs,
            ways: self.ways.len(),
            unexpected: counts.unexpected(),
            no_longer: self.no_longer.len(),
            counts,
        }
    }
}

fn sentence(name: &str, difference: &Difference) -> String {
    let Difference { native, ours, times, of, .. } = difference;
    let times = if times < of { format!(", in {times} of {of} runs") } else { String::new() };
    format!("{name}: natively {native}, here {ours}{times}")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| suite | way | same | differ | hang | of these expected | unstable |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for ((suite, way), counts) in &self.table {
            let Counts { same, differ, hang, expected, unstable } = counts;
            let way = &self.ways[*way];
            writeln!(
                f,
                "| {suite} | {way} | {same} | {differ} | {hang} | {expected} | {unstable} |"
            )?;
        }
        let plain = |list: &[String]| list.iter().map(|text| (text.clone(), Vec::new())).collect();
        list(f, "Differs, and is not expected to", &self.unexpected)?;
        list(f, "Differs as expected", &self.expected)?;
        list(f, "Expected to differ, and no longer does", &plain(&self.no_longer))?;
        list(f, "Unstable natively, and not counted", &plain(&self.unstable))?;
        writeln!(f, "{}", serde_json::to_string(&self.summary()).expect("numbers"))
    }
}

fn list(f: &mut fmt::Formatter<'_>, title: &str, entries: &Entries) -> fmt::Result {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}:")?;
    for (text, ways) in entries {
        let ways = if ways.is_empty() { String::new() } else { format!("  [{}]", ways.join(" ")) };
        writeln!(f, "  {text}{ways}")?;
    }
    writeln!(f)
}

/// Prints that one more program is done, how long the rest will take, and in which ways this
/// program differs.
pub fn progress(row: &Row, ways: &[Way], done: usize, all: usize, started: Instant) {
    let left = started.elapsed().as_secs_f64() / done as f64 * (all - done) as f64 / 60.0;
    let name = row.program.name();
    let verdict = match &row.verdicts[..] {
        all if all.contains(&Verdict::Unstable) => "unstable",
        all if all.iter().all(|verdict| *verdict == Verdict::Same) => "same",
        _ => "DIFFERS",
    };
    eprintln!("{done:>4} of {all}, {left:>3.0} min left: {name}: {verdict}");
    for (verdict, way) in row.verdicts.iter().zip(ways) {
        if let Verdict::Differs(difference) = verdict {
            let (way, said) = (way.name(), difference.last_line.trim());
            eprintln!("    {way}: {}; last it said: {said}", sentence(&name, difference));
        }
    }
}
