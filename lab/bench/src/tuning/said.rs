//! The parts of `syncline tune`'s output that the benchmark uses.

/// The output about the call site with the greatest predicted gain, which `tune` tries first.
#[derive(Debug, PartialEq)]
pub struct Said {
    /// The gain that the report predicts: the factor by which the program becomes faster. `None` if
    /// the report predicts nothing.
    pub predicted: Option<f64>,
    /// The lock that was kept or, if none was, the one with the greatest gain.
    pub lock: String,
    /// Whether the lock was kept.
    pub kept: bool,
    /// The measured gain: the factor by which the program is faster with this lock.
    pub gain: f64,
    /// The interval of the measured gain; `None` if there were not enough runs.
    pub interval: Option<(f64, f64)>,
}

impl Said {
    /// Parses the output. If no lock was tried, the gain is 1.
    pub fn read(text: &str) -> Said {
        let mut said = Said {
            predicted: None,
            lock: "nothing tried".to_owned(),
            kept: false,
            gain: 1.0,
            interval: None,
        };
        // The lines about the recordings are a paragraph. Each call site, with the locks that were
        // tried there, is another one.
        let place = text.split("\n\n").nth(1).unwrap_or_default();
        for line in place.lines().filter_map(|line| line.strip_prefix("  ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["predicted", gain, ..] => said.predicted = times(gain),
                [lock, gain, ..] => {
                    let Some(gain) = times(gain) else { continue };
                    let kept = line.ends_with(", kept");
                    if kept || !said.kept && (said.lock.contains(' ') || gain > said.gain) {
                        let lock = lock.to_owned();
                        said = Said { lock, kept, gain, interval: interval(line), ..said };
                    }
                }
                _ => {}
            }
        }
        said
    }

    /// The difference between predicted and measured gain, as shares of the time; `None` without a
    /// prediction.
    pub fn error(&self) -> Option<f64> {
        Some((share(self.predicted?) - share(self.gain)).abs())
    }
}

/// Parses a gain such as `1.25x` or `1.25x:`.
fn times(word: &str) -> Option<f64> {
    word.trim_end_matches(':').strip_suffix('x')?.parse().ok()
}

/// Parses an interval such as `(1.09 to 1.21)`.
fn interval(line: &str) -> Option<(f64, f64)> {
    let (low, high) = line.split_once('(')?.1.split_once(')')?.0.split_once(" to ")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

/// The share of the time that is saved if a program becomes this many times faster.
pub fn share(gain: f64) -> f64 {
    1.0 - 1.0 / gain
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Recorded: 2.57 s with 3 threads, which waited 0.37 s for locks.\n\n\
                        loops+0x0 (app)  (0.37 s waited)\n  predicted 1.25x: A mutex\n";

    #[test]
    fn the_kept_lock_counts() {
        let text = format!(
            "{HEAD}  gate             1.11x (1.09 to 1.21)  faster, 15 rounds, kept\n  \
             mcs              1.30x (0.90 to 1.40)  undecided (needs ~41 runs), 40 rounds\n\n\
             All kept replacements together, compared with the program's locks: 9.00x (1.00 to \
             10.00)  faster\n"
        );
        let said = Said::read(&text);
        assert_eq!((&*said.lock, said.kept, said.gain), ("gate", true, 1.11));
        assert_eq!((said.predicted, said.interval), (Some(1.25), Some((1.09, 1.21))));
        assert!((said.error().unwrap() - (0.2 - (1.0 - 1.0 / 1.11))).abs() < 1e-12);
    }

    #[test]
    fn without_a_kept_lock_the_best_counts_even_if_slower() {
        let text = format!(
            "{HEAD}  gate             0.80x  too few runs to say\n  mcs              0.90x  too \
             few runs to say\n\nNo replacement is kept: none is certainly faster.\n"
        );
        let said = Said::read(&text);
        assert_eq!((&*said.lock, said.kept, said.gain, said.interval), ("mcs", false, 0.9, None));
        let nothing = Said::read("No lock cost this program time; nothing was tried.\n");
        assert_eq!((nothing.gain, nothing.error()), (1.0, None));
    }
}
