//! Compares many sides that are measured in turn within one run, as [`compare`](crate::compare)
//! does with two.
//!
//! A round runs each side once, one right after the other. Every other round runs in reverse order,
//! so that a steady drift favours no side. One uncounted round comes first.

use indicatif::{ProgressBar, ProgressStyle};

/// Runs one side once.
pub type Once<'a, T> = Box<dyn FnMut() -> anyhow::Result<T> + 'a>;

/// Runs all sides. Returns, for each side, its results in all rounds. The bar advances by `step`
/// for each run, including those of the uncounted round.
pub fn run<T>(
    sides: &mut [Once<T>],
    rounds: usize,
    bar: &ProgressBar,
    step: u64,
) -> anyhow::Result<Vec<Vec<T>>> {
    let mut results: Vec<Vec<T>> = sides.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for place in 0..sides.len() {
            let side = if round % 2 == 0 { place } else { sides.len() - 1 - place };
            let result = (sides[side])()?;
            if round > 0 {
                results[side].push(result);
            }
            bar.inc(step);
        }
    }
    Ok(results)
}

/// A progress bar for this many steps, shown if standard error is a terminal.
pub fn bar(steps: u64) -> anyhow::Result<ProgressBar> {
    let style = "{bar:30} {percent:>3} %, {eta} left: {msg}";
    Ok(ProgressBar::new(steps).with_style(ProgressStyle::with_template(style)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_other_round_goes_backwards_after_a_warm_up() {
        let ran = Cell::new(0);
        let next = || {
            ran.set(ran.get() + 1);
            Ok(ran.get())
        };
        let mut sides: Vec<Once<i32>> = vec![Box::new(next), Box::new(next), Box::new(next)];
        let results = run(&mut sides, 2, &ProgressBar::hidden(), 1).unwrap();
        assert_eq!(results, [[6, 7], [5, 8], [4, 9]]);
    }
}
