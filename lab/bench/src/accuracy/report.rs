//! The tables as text for a terminal, and in Markdown for `docs/accuracy.md`.

use super::outcome::{Outcome, Problem, distinct};
use crate::statistics::{not_above, percent};

/// Prints a line for each workload with a problem, followed by its other findings. Then prints the
/// false alarms of all variants without a problem.
pub fn print(outcomes: &[Outcome]) {
    println!(
        "Problems: the right rule, in how many recorded runs it was found (also of the stripped \
         program), and the gain of the fix\n"
    );
    println!(
        "  {:<22}{:<28}{:>6}{:>10}{:>11}{:>10}",
        "", "", "found", "stripped", "predicted", "measured"
    );
    for outcome in outcomes {
        let Some(problem) = &outcome.problem else { continue };
        let found = format!("{}/{}", problem.hits(), outcome.runs);
        let stripped = format!("{}/{}", problem.stripped_hits(), outcome.runs);
        let miss = if outcome.is_found() { "" } else { "  MISSED" };
        println!(
            "  {:<22}{:<28}{found:>6}{stripped:>10}{:>11}{:>10}  {}{miss}",
            outcome.name,
            outcome.expected,
            predicted(problem),
            percent(problem.measured().median),
            interval(problem),
        );
        for (also, runs) in problem.also() {
            println!("      also {also}, {runs}/{}", outcome.runs);
        }
    }
    println!("\nVariants without a problem: {}", sound_variants(outcomes));
    for outcome in outcomes {
        for (alarm, runs) in distinct(outcome.false_alarms.iter()) {
            println!("  FALSE ALARM {}: {alarm}, {runs}/{}", outcome.sound_variant(), outcome.runs);
        }
    }
    println!();
}

/// A row for each workload with a problem, as a Markdown table, followed by the figures for all
/// workloads and the false alarms.
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| workload | rule | found | stripped | predicted | measured | 95 % interval | also |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for outcome in outcomes {
        let Some(problem) = &outcome.problem else { continue };
        let also: Vec<String> = problem.also().into_iter().map(|(also, _)| also).collect();
        text += &format!(
            "| {} | {} | {} of {} | {} | {} | {} | {} | {} |\n",
            outcome.name,
            outcome.expected,
            problem.hits(),
            outcome.runs,
            problem.stripped_hits(),
            predicted(problem),
            percent(problem.measured().median),
            interval(problem),
            also.join(", "),
        );
    }
    text += &format!("\n{}\n\n{}\n", differences(outcomes), sound_variants(outcomes));
    let mut alarms = String::new();
    for outcome in outcomes {
        for (alarm, runs) in distinct(outcome.false_alarms.iter()) {
            alarms +=
                &format!("- {}: {alarm}, in {runs} of {}\n", outcome.sound_variant(), outcome.runs);
        }
    }
    if !alarms.is_empty() {
        text += &format!("\nVariants with a false alarm in some runs:\n\n{alarms}");
    }
    text
}

/// The differences between predicted and measured gains, in words.
fn differences(outcomes: &[Outcome]) -> String {
    let below = |part: f64| {
        let errors = outcomes.iter().filter_map(Outcome::gain_error).collect();
        not_above(part, errors).map_or("-".to_owned(), percent)
    };
    format!(
        "For half of the programs, predicted and measured gain differ by at most {} of the run time; \
         for three in four, by at most {}.",
        below(0.5),
        below(0.75)
    )
}

/// The number of variants without a problem, and of those with a false alarm in most runs.
fn sound_variants(outcomes: &[Outcome]) -> String {
    let fixed = outcomes.iter().filter(|o| o.problem.is_some()).count();
    let alarms = outcomes.iter().filter(|o| o.is_false_alarm()).count();
    let alarms = match alarms {
        0 => "none has".to_owned(),
        1 => "1 has".to_owned(),
        _ => format!("{alarms} have"),
    };
    format!(
        "{fixed} fixed and {} clean variants: {alarms} a false alarm in most of the runs.",
        outcomes.len() - fixed
    )
}

fn predicted(problem: &Problem) -> String {
    problem.predicted().map_or("-".to_owned(), percent)
}

fn interval(problem: &Problem) -> String {
    let measured = problem.measured();
    format!("{} .. {}", percent(measured.low), percent(measured.high))
}
