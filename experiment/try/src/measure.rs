//! The measures by which runs are compared: a time, a number that the program prints, or one that a
//! command extracts from the output.

use std::io::{self, Seek, Write};
use std::process::{Command, Output};

use regex::bytes::Regex;
use thiserror::Error;

use crate::run::Sample;

/// The value of a run that is compared.
#[derive(Clone, Debug)]
pub enum Measure {
    /// The elapsed time of the run.
    Wall,
    /// The processor time of the program and its children.
    Processor,
    /// A number in the program's output.
    Printed {
        /// Matches the number: its first group, or else the whole match, is the number. The last
        /// match counts.
        pattern: Regex,
        /// Whether a smaller number is better.
        less: bool,
    },
    /// The number that a shell command prints after it has read the program's output.
    Made {
        /// The command.
        command: String,
        /// Whether a smaller number is better.
        less: bool,
    },
}

/// The reason why a run has no number to compare.
#[derive(Debug, Error)]
pub enum NotANumber {
    /// The output has no number that the pattern matches.
    #[error("printed no number above zero that `{0}` matches")]
    Printed(String),
    /// The command printed something other than a number above zero.
    #[error("`{0}` extracted no number above zero from the output; it printed: {1}")]
    Made(String, String),
    /// The command could not be run.
    #[error("`{0}` could not be run: {1}")]
    NotRun(String, io::Error),
}

impl Measure {
    /// The value of a run: its seconds, or the number.
    ///
    /// # Errors
    /// If there is no number above zero, or the command can't be run.
    pub fn of(&self, sample: &Sample) -> Result<f64, NotANumber> {
        match self {
            Measure::Wall => Ok(sample.seconds),
            Measure::Processor => Ok(sample.processor_seconds),
            Measure::Printed { pattern, .. } => {
                let found = pattern.captures_iter(&sample.output).last();
                let number = found.and_then(|groups| {
                    let text = groups.get(1).or(groups.get(0))?;
                    number(text.as_bytes())
                });
                number.ok_or_else(|| NotANumber::Printed(pattern.to_string()))
            }
            Measure::Made { command, .. } => {
                let made = made(command, &sample.output)
                    .map_err(|error| NotANumber::NotRun(command.clone(), error))?;
                number(&made.stdout).ok_or_else(|| {
                    let all = [made.stdout, made.stderr].concat();
                    let text = String::from_utf8_lossy(&all).trim().to_owned();
                    NotANumber::Made(command.clone(), text)
                })
            }
        }
    }

    /// The cost of a value, which grows as the program gets worse: the value itself, or its
    /// reciprocal if more is better.
    pub fn cost(&self, value: f64) -> f64 {
        self.gain(value, 1.0)
    }

    /// The factor by which the second value is better than the first.
    pub fn gain(&self, before: f64, after: f64) -> f64 {
        match self {
            Measure::Printed { less: false, .. } | Measure::Made { less: false, .. } => {
                after / before
            }
            _ => before / after,
        }
    }
}

/// Parses a number above zero. Ratios can be computed only of such numbers.
fn number(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// The output of a command that reads the program's output. The input is a file, so that neither
/// side waits for the other.
fn made(command: &str, output: &[u8]) -> io::Result<Output> {
    let mut file = tempfile::tempfile()?;
    file.write_all(output)?;
    file.rewind()?;
    Command::new("/bin/sh").args(["-c", command]).stdin(file).output()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(output: &str) -> Sample {
        Sample { seconds: 1.0, processor_seconds: 1.0, output: output.into() }
    }

    fn printed(pattern: &str, output: &str) -> Result<f64, NotANumber> {
        let pattern = Regex::new(pattern).unwrap();
        Measure::Printed { pattern, less: false }.of(&sample(output))
    }

    #[test]
    fn a_command_makes_a_number_of_the_output() {
        let made = |command: &str, output: &str| {
            Measure::Made { command: command.into(), less: true }.of(&sample(output))
        };
        let long = "1 and some more\n".repeat(100_000);
        assert_eq!(made("wc -l", &long).unwrap(), 100_000.0);
        assert_eq!(made("head -n 1 | cut -c1", &long).unwrap(), 1.0, "it need not read all");
        let error = made("cat", "much").unwrap_err().to_string();
        assert!(error.contains("`cat` extracted no number") && error.contains("much"), "{error}");
        let error = made("no-such-program", "1").unwrap_err().to_string();
        assert!(error.contains("not found"), "{error}");
        let less = Measure::Made { command: String::new(), less: true };
        assert_eq!(less.gain(3.0, 2.0), 1.5);
    }

    #[test]
    fn the_last_number_counts() {
        assert_eq!(printed(r"ops: (\d+)", "ops: 12\nops: 345 per second\n").unwrap(), 345.0);
        assert_eq!(printed(r"[0-9.]+", "1.5\n2.5\n").unwrap(), 2.5);
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
