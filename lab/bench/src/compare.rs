//! Compares two sides that are measured in turn within one run.
//!
//! A shared machine drifts: its clock rate changes, and other programs start and end. So a [`Case`]
//! runs its two sides right after each other, many times, and only the difference within each pair
//! counts. Which side goes first alternates, so that a steady drift favours neither. One uncounted
//! run of each side comes first: it fills caches, and shows early if something is missing.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::statistics::{MISS, Spread, geometric_mean, median};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    /// The side with which the subject is compared, such as no recording or another library's lock.
    Baseline,
    /// The side that the benchmark is about.
    Subject,
}

/// The way in which the subject is compared with the baseline.
#[derive(Clone, Copy)]
pub enum Change {
    /// subject − baseline
    Added,
    /// subject / baseline
    Ratio,
}

/// One of the numbers that a run yields. For all measures, less is better.
#[derive(Clone)]
pub struct Measure {
    pub label: &'static str,
    pub change: Change,
    /// The value that the change should not exceed.
    pub aim: Option<f64>,
}

pub struct Case<'a> {
    pub section: &'static str,
    pub name: String,
    pub pairs: usize,
    pub measures: Vec<Measure>,
    /// Runs one side once and returns a number for each of `measures`.
    pub once: Box<dyn FnMut(Side) -> anyhow::Result<Vec<f64>> + 'a>,
}

/// One measure of one case, over all pairs.
pub struct Row {
    pub section: &'static str,
    pub case: String,
    pub measure: Measure,
    /// The values of baseline and subject in each pair.
    pub pairs: Vec<(f64, f64)>,
    /// The most times that the benchmark checks whether there are enough pairs.
    pub looks: usize,
}

/// Whether a change meets its aim.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    Met,
    Missed,
    /// The interval includes the aim.
    Open,
}

impl Row {
    pub fn baseline(&self) -> f64 {
        median(&self.pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())
    }

    pub fn subject(&self) -> f64 {
        median(&self.pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())
    }

    pub fn change(&self) -> Spread {
        let change = |&(baseline, subject): &(f64, f64)| match self.measure.change {
            Change::Added => subject - baseline,
            Change::Ratio => subject / baseline,
        };
        let changes: Vec<_> = self.pairs.iter().map(change).collect();
        // Several checks share the allowed probability of error (Bonferroni).
        Spread::or_range(&changes, MISS / self.looks as f64)
    }

    pub fn verdict(&self) -> Option<Verdict> {
        let aim = self.measure.aim?;
        let change = self.change();
        Some(match () {
            () if change.high <= aim => Verdict::Met,
            () if change.low > aim => Verdict::Missed,
            () => Verdict::Open,
        })
    }

    /// The geometric mean over rows with the same measure, for each pair.
    pub fn mean(case: &str, rows: &[&Row]) -> Row {
        let pair = |i: usize| {
            let baseline = geometric_mean(rows.iter().map(|row| row.pairs[i].0));
            let subject = geometric_mean(rows.iter().map(|row| row.pairs[i].1));
            (baseline, subject)
        };
        let common = rows.iter().map(|row| row.pairs.len()).min().unwrap_or(0);
        Row {
            section: rows[0].section,
            case: case.to_owned(),
            measure: rows[0].measure.clone(),
            pairs: (0..common).map(pair).collect(),
            looks: rows[0].looks,
        }
    }
}

/// Runs all cases, with a progress bar if standard error is a terminal.
pub fn run(cases: Vec<Case>) -> anyhow::Result<Vec<Row>> {
    run_showing(cases, 1, |_| {})
}

/// Runs all cases, and shows the rows of each case as soon as they are known. While the interval of
/// a row includes its aim, the case gets as many pairs again. `looks` is the most checks of a case.
pub fn run_showing(
    cases: Vec<Case>,
    looks: usize,
    mut show: impl FnMut(&[Row]),
) -> anyhow::Result<Vec<Row>> {
    let runs = cases.iter().map(|case| 2 * (case.pairs + 1)).sum::<usize>();
    let style = "{bar:30} {pos}/{len} runs, {elapsed} of about {duration}: {msg}";
    let bar = ProgressBar::new(runs as u64).with_style(ProgressStyle::with_template(style)?);
    let mut rows = Vec::new();
    for case in cases {
        bar.set_message(case.name.clone());
        let measured = run_case(case, looks, &bar)?;
        bar.suspend(|| show(&measured));
        rows.extend(measured);
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn run_case(mut case: Case, looks: usize, bar: &ProgressBar) -> anyhow::Result<Vec<Row>> {
    let mut once = |side| {
        let numbers = (case.once)(side).with_context(|| format!("{} ({side:?})", case.name))?;
        anyhow::ensure!(numbers.len() == case.measures.len(), "{}: too few figures", case.name);
        bar.inc(1);
        Ok(numbers)
    };
    let row = |measure: &Measure| Row {
        section: case.section,
        case: case.name.clone(),
        measure: measure.clone(),
        pairs: Vec::new(),
        looks,
    };
    let mut rows: Vec<Row> = case.measures.iter().map(row).collect();
    once(Side::Baseline)?;
    once(Side::Subject)?;
    for look in 1..=looks {
        for pair in 0..case.pairs {
            let (baseline, subject) = if pair % 2 == 0 {
                let baseline = once(Side::Baseline)?;
                (baseline, once(Side::Subject)?)
            } else {
                let subject = once(Side::Subject)?;
                (once(Side::Baseline)?, subject)
            };
            for (row, both) in rows.iter_mut().zip(baseline.into_iter().zip(subject)) {
                row.pairs.push(both);
            }
        }
        if rows.iter().all(|row| row.verdict() != Some(Verdict::Open)) {
            break;
        }
        if look < looks {
            bar.inc_length(2 * case.pairs as u64);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(change: Change, aim: f64, pairs: &[(f64, f64)]) -> Row {
        let measure = Measure { label: "time", change, aim: Some(aim) };
        Row { section: "", case: String::new(), measure, pairs: pairs.to_vec(), looks: 1 }
    }

    #[test]
    fn sides_alternate_in_going_first_after_a_warm_up() {
        let mut order = Vec::new();
        let case = Case {
            section: "",
            name: String::new(),
            pairs: 2,
            measures: vec![Measure { label: "place", change: Change::Added, aim: None }],
            once: Box::new(|side| {
                order.push(side);
                Ok(vec![order.len() as f64])
            }),
        };
        let rows = run(vec![case]).unwrap();
        assert_eq!(rows[0].pairs, [(3.0, 4.0), (6.0, 5.0)]);
        use Side::{Baseline as B, Subject as S};
        assert_eq!(order, [B, S, B, S, S, B]);
    }

    #[test]
    fn an_aim_inside_the_interval_leaves_the_verdict_open() {
        let pairs = [(1.0, 1.1), (1.0, 1.2), (1.0, 1.3)];
        assert_eq!(row(Change::Ratio, 1.0, &pairs).verdict(), Some(Verdict::Missed));
        assert_eq!(row(Change::Ratio, 1.2, &pairs).verdict(), Some(Verdict::Open));
        assert_eq!(row(Change::Ratio, 1.3, &pairs).verdict(), Some(Verdict::Met));
        assert_eq!(row(Change::Added, 0.5, &pairs).verdict(), Some(Verdict::Met));
    }

    #[test]
    fn pairs_are_added_until_the_verdict_is_decided() {
        // The first pair has one change and all later pairs another, so the verdict is open while
        // they differ.
        let pairs_of = |later: f64| {
            let mut runs = 0;
            let case = Case {
                section: "",
                name: String::new(),
                pairs: 2,
                measures: vec![Measure { label: "time", change: Change::Ratio, aim: Some(1.0) }],
                once: Box::new(move |side| {
                    runs += 1;
                    let subject = if runs <= 4 { later } else { 1.1 };
                    Ok(vec![if side == Side::Baseline { 1.0 } else { subject }])
                }),
            };
            run_showing(vec![case], 3, |_| {}).unwrap()[0].pairs.len()
        };
        assert_eq!(pairs_of(0.9), 6);
        assert_eq!(pairs_of(1.1), 2);
    }

    #[test]
    fn a_mean_weighs_every_row_alike() {
        let slow = row(Change::Ratio, 1.0, &[(1000.0, 4000.0)]);
        let fast = row(Change::Ratio, 1.0, &[(1.0, 1.0)]);
        assert!((Row::mean("", &[&slow, &fast]).change().median - 2.0).abs() < 1e-12);
    }
}
