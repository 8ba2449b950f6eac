//! What is compared: a time, or a number that the program prints.

use regex::bytes::Regex;
use thiserror::Error;

use crate::run::Sample;

/// What of a run counts.
#[derive(Clone, Debug)]
pub enum Measure {
    /// The time that it took.
    Wall,
    /// The processor time that it and its children took.
    Processor,
    /// A number in its output.
    Printed {
        /// Finds the number: its first group, or else all of it. The last match counts.
        pattern: Regex,
        /// Whether a smaller number is better.
        less: bool,
    },
}

/// The output has no such number.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("printed nothing that `{0}` finds a number above zero in")]
pub struct NotANumber(String);

impl Measure {
    /// The value of a run: seconds, or the number.
    ///
    /// # Errors
    /// If the output has no such number.
    pub fn of(&self, sample: &Sample) -> Result<f64, NotANumber> {
        match self {
            Measure::Wall => Ok(sample.seconds),
            Measure::Processor => Ok(sample.processor_seconds),
            Measure::Printed { pattern, .. } => {
                let found = pattern.captures_iter(&sample.output).last();
                let number = found.and_then(|groups| {
                    let text = groups.get(1).or(groups.get(0))?;
                    std::str::from_utf8(text.as_bytes()).ok()?.trim().parse().ok()
                });
                number
                    .filter(|number: &f64| number.is_finite() && *number > 0.0)
                    .ok_or_else(|| NotANumber(pattern.to_string()))
            }
        }
    }

    /// How many times better the second value is than the first.
    pub fn gain(&self, before: f64, after: f64) -> f64 {
        match self {
            Measure::Printed { less: false, .. } => after / before,
            _ => before / after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pattern: &str, output: &str) -> Result<f64, NotANumber> {
        let pattern = Regex::new(pattern).unwrap();
        let sample = Sample { seconds: 1.0, processor_seconds: 1.0, output: output.into() };
        Measure::Printed { pattern, less: false }.of(&sample)
    }

    #[test]
    fn the_last_number_counts() {
        assert_eq!(printed(r"ops: (\d+)", "ops: 12\nops: 345 per second\n"), Ok(345.0));
        assert_eq!(printed(r"[0-9.]+", "1.5\n2.5\n"), Ok(2.5));
        assert!(printed(r"ops: (\w+)", "ops: many").is_err());
        assert!(printed(r"ops: (\d+)", "ops: 0").is_err(), "no ratio to nothing");
    }

    #[test]
    fn more_is_better_unless_it_is_said() {
        let pattern = Regex::new("x").unwrap();
        assert_eq!(Measure::Printed { pattern: pattern.clone(), less: false }.gain(2.0, 3.0), 1.5);
        assert_eq!(Measure::Printed { pattern, less: true }.gain(3.0, 2.0), 1.5);
        assert_eq!(Measure::Wall.gain(3.0, 2.0), 1.5);
    }
}
