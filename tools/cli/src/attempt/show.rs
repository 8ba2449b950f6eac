//! The outcome of an experiment, as text.

use std::fmt::Write as _;

use syncline_statistics::Interval;
use syncline_try::{Comparison, Experiment, Measure, Outcome, Verdict, Why};

use crate::arguments::MOST_RUNS;
use syncline_present::number::{counted, grouped};

/// The width of the column of names.
const NAME: usize = 18;
/// The width of the column of values, unless its title is wider.
const VALUE: usize = 8;

/// The table of the variants, with notes below it. An interval needs at least `enough` rounds.
pub fn table(experiment: &Experiment, outcome: &Outcome, enough: usize) -> String {
    let of = |value: f64| match experiment.measure {
        Measure::Printed { .. } | Measure::Made { .. } => figure(value),
        _ => format!("{value:.3} s"),
    };
    let what = match &experiment.measure {
        Measure::Wall => "time",
        Measure::Processor => "processor time",
        Measure::Printed { .. } | Measure::Made { .. } => "figure",
    };
    let name = &experiment.own.name;
    let mut text = String::new();
    // Writing to a text never fails.
    let wide = what.len().max(VALUE);
    let _ = writeln!(text, "{:<NAME$} {what:>wide$}  gain, with its 95 % interval", "locks");
    let _ = writeln!(text, "{name:<NAME$} {:>wide$}", of(outcome.own));
    let mut undecided = false;
    for Comparison { name, verdict, .. } in &outcome.others {
        let (value, said) = match verdict {
            Verdict::Better(value, interval) => (of(*value), gain(interval, "faster")),
            Verdict::Worse(value, interval) => (of(*value), gain(interval, "slower")),
            Verdict::Same(value, interval) => (of(*value), gain(interval, "no difference")),
            Verdict::Undecided(value, interval, rounds) => {
                undecided = true;
                (of(*value), gain(interval, &open(*rounds)))
            }
            Verdict::TooFew(gain) => (String::new(), format!("{gain:.2}x  too few runs to say")),
            Verdict::GivenUp(gain, why) => (String::new(), given_up(*gain, why)),
            Verdict::Failed(why) => (String::new(), why.clone()),
        };
        let _ = writeln!(text, "{name:<NAME$} {value:>wide$}  {said}");
    }
    let _ = writeln!(
        text,
        "\nMedians of {}; only runs of the same round are compared.",
        counted(outcome.rounds, "round")
    );
    let bound = experiment.matters * 100.0;
    let _ = writeln!(text, "\"No difference\" is less than {bound} % either way.");
    if undecided {
        let _ = writeln!(
            text,
            "\"Undecided\": the difference may be larger than {bound} %, or zero. More runs or a \
             quieter machine would decide."
        );
    }
    text.push_str(&if outcome.rounds < enough {
        format!("An interval needs {enough} rounds: --runs {enough} or more.\n")
    } else {
        "In 95 of 100 cases, all intervals contain the true values.\n".to_owned()
    });
    text
}

/// A number of any magnitude. It has four digits, or from 10,000 on all digits before the point.
fn figure(value: f64) -> String {
    let before_the_point = value.log10().floor().max(0.0) as usize + 1;
    format!("{value:.0$}", 4usize.saturating_sub(before_the_point))
}

/// The note on an undecided variant. It gives the number of runs that would be needed, unless this
/// is more than `--runs` allows.
pub fn open(rounds: usize) -> String {
    match rounds {
        0..=MOST_RUNS => format!("undecided (needs ~{} runs)", grouped(rounds as u64)),
        _ => "undecided (needs more than 10,000 runs)".to_owned(),
    }
}

/// The note on a variant that was given up before the end.
pub fn given_up(gain: f64, why: &Why) -> String {
    match why {
        Why::TooLittle => format!("{gain:.2}x  given up: too little to matter"),
        Why::Behind(other) => format!("{gain:.2}x  given up: no better than {other}"),
    }
}

/// A gain with its interval and a verdict.
pub fn gain(interval: &Interval, verdict: &str) -> String {
    let Interval { median, low, high } = interval;
    format!("{median:.2}x ({low:.2} to {high:.2})  {verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(figure(75.550_000_01), "75.55");
        assert_eq!(figure(123_456.7), "123457");
        assert_eq!(figure(0.25), "0.250");
    }
}
