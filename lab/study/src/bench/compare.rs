//! Compares the results of the same tests on two machines. If one machine is a simulation of the
//! other, the comparison shows how well the machine's description predicts the machine.

use std::fmt::Write as _;

use serde::Serialize;

use super::lines::{Line, Shown};
use crate::claims::median;
use crate::stress::Pause;
use crate::target::Target;
use crate::world::Placement;

/// The results of a test on two machines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The name of the test, such as a lock or an operation.
    pub name: String,
    /// The number of threads or, for a free lock, the position of its last holder.
    pub at: String,
    /// The first machine's result.
    pub first: f64,
    /// The second machine's result.
    pub second: f64,
    /// The second result divided by the first.
    pub ratio: f64,
}

/// Compares the results of two machines test by test. Tests that only one of them has are left out.
pub fn compared(first: &[Line], second: &[Line], shown: Shown) -> Vec<Comparison> {
    let same = |line: &Line| second.iter().find(|o| o.name == line.name && o.at == line.at);
    let pairs = first.iter().filter_map(|line| Some((line, same(line)?)));
    let comparison = |(line, other): (&Line, &Line)| {
        let (first, second) = (shown.of(&line.outcome), shown.of(&other.outcome));
        let (name, at) = (line.name.clone(), line.at.clone());
        Comparison { name, at, first, second, ratio: second / first }
    };
    pairs.map(comparison).collect()
}

/// The median relative difference between the machines, in percent; signs are ignored.
pub fn error_percent(comparisons: &[Comparison]) -> f64 {
    median(comparisons.iter().map(|c| 100.0 * (c.ratio - 1.0).abs()))
}

/// The percentage of comparisons in which the machines differ by at most `percent`.
pub fn within_percent(comparisons: &[Comparison], percent: f64) -> f64 {
    let near = |c: &&Comparison| 100.0 * (c.ratio - 1.0).abs() <= percent;
    let count = comparisons.iter().filter(near).count();
    100.0 * count as f64 / comparisons.len().max(1) as f64
}

/// Formats a comparison for a terminal: a row for each test, and the median difference below.
pub fn comparison_table(machines: [&Target; 2], shown: Shown, both: &[Comparison]) -> String {
    let [first, second] = machines.map(Target::name);
    let names = both.iter().map(|comparison| comparison.name.len() + 1).max().unwrap_or(0).max(16);
    let mut text = format!("{}\n\n{:<names$}{:>14}", shown.unit(), "", "");
    // Writing to a text never fails.
    let _ = writeln!(text, "{first:>12}{second:>12}{:>12}", "difference");
    for Comparison { name, at, first, second, ratio } in both {
        let off = 100.0 * (ratio - 1.0);
        let _ = writeln!(text, "{name:<names$}{at:>14}{first:>12.2}{second:>12.2}{off:>+10.0} %");
    }
    let _ = writeln!(text, "\nThe median difference is {:.0} %.", error_percent(both));
    text
}

/// Measures each number of threads on two machines. If `threads` is empty, measures the numbers
/// that are worth measuring on the first machine. On both machines, threads pause for the time that
/// a line takes to get from one thread to another on the first machine. With other pauses, the
/// machines would have different loads.
///
/// # Errors
/// Same errors as `measure`.
pub fn with_equal_pauses<E>(
    machines: [&Target; 2],
    threads: Vec<usize>,
    order: Placement,
    mut measure: impl FnMut(&Target, usize, Pause) -> Result<Vec<Line>, E>,
) -> Result<[Vec<Line>; 2], E> {
    let [first, _] = machines;
    let mut both = [Vec::new(), Vec::new()];
    for threads in if threads.is_empty() { first.steps() } else { threads } {
        let seconds = first.transfer(threads, order);
        for (machine, lines) in machines.into_iter().zip(&mut both) {
            let pause = Pause::Cycles((seconds * machine.hertz()).round() as u64);
            lines.extend(measure(machine, threads, pause)?);
        }
    }
    Ok(both)
}

/// The most runs of a test if the calibrations before and after each run differ.
const TRIES: usize = 6;

/// The result of a run, with the calibrations before and after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibrated<T> {
    /// The result of the run.
    pub result: T,
    /// The mean of the two calibrations.
    pub by: f64,
    /// Whether the calibrations differ by at most a fifth of the lesser one.
    pub steady: bool,
}

/// Runs a test between two calibrations. Repeats all three while the calibrations differ
/// ([`calibrations_agree`]), since a hypervisor may have moved the virtual processors meanwhile.
/// After `TRIES` runs, returns the last one even if its calibrations differ.
///
/// # Errors
/// Same errors as `calibrate` and `run`.
pub fn calibrated<T, E>(
    mut calibrate: impl FnMut() -> Result<f64, E>,
    mut run: impl FnMut(f64) -> Result<T, E>,
) -> Result<Calibrated<T>, E> {
    let mut tries = 0;
    loop {
        let before = calibrate()?;
        let result = run(before)?;
        let after = calibrate()?;
        let steady = calibrations_agree(before, after);
        tries += 1;
        if steady || tries == TRIES {
            return Ok(Calibrated { result, by: f64::midpoint(before, after), steady });
        }
    }
}

/// Whether two calibrations differ by at most a fifth of the lesser one.
pub fn calibrations_agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.2 * one.min(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::Outcome;

    #[test]
    fn machines_are_compared_test_by_test() {
        let line = |name: &str, per_second| Line {
            name: name.to_owned(),
            at: "2".to_owned(),
            outcome: Outcome { per_second, ..Outcome::default() },
            spread: [0.0, 0.0],
        };
        let first = [line("mcs", 1e6), line("tas", 2e6), line("clh", 1.0)];
        let second = [line("tas", 3e6), line("mcs", 9e5)];
        let both = compared(&first, &second, Shown::Throughput);
        assert_eq!(both.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["mcs", "tas"]);
        assert_eq!((both[1].first, both[1].second, both[1].ratio), (2.0, 3.0, 1.5));
        assert!((error_percent(&both) - 30.0).abs() < 1e-9, "10 % and 50 %");
        assert_eq!(within_percent(&both, 30.0), 50.0);
        assert_eq!(within_percent(&both, 9.0), 0.0);
        assert_eq!(within_percent(&[], 30.0), 0.0);
    }

    /// Runs [`calibrated`] with calibrations that return these numbers in turn. Returns its result,
    /// and the number of runs.
    fn of(numbers: &[f64]) -> (Calibrated<f64>, usize) {
        let (mut left, mut runs) = (numbers.iter().copied().cycle(), 0);
        let outcome = calibrated::<_, ()>(
            || Ok(left.next().unwrap()),
            |before| {
                runs += 1;
                Ok(before)
            },
        );
        (outcome.unwrap(), runs)
    }

    #[test]
    fn a_run_between_two_different_calibrations_is_repeated() {
        let steady = Calibrated { result: 100.0, by: 110.0, steady: true };
        assert_eq!(of(&[100.0, 120.0]), (steady, 1), "a fifth is near enough");
        let second = Calibrated { result: 300.0, by: 300.0, steady: true };
        assert_eq!(of(&[100.0, 300.0, 300.0, 300.0]), (second, 2));
        let (never, runs) = of(&[100.0, 121.0]);
        assert_eq!((never.steady, runs), (false, TRIES));
    }

    #[test]
    fn an_error_ends_calibrated_runs() {
        let mut runs = 0;
        let failed = calibrated(
            || Err("no clock"),
            |_| {
                runs += 1;
                Ok(())
            },
        );
        assert_eq!(failed, Err("no clock"));
        assert_eq!(runs, 0);
    }
}
