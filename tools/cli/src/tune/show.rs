//! Formats what was tried, as text for the terminal and as a comment in the policy.

use std::ffi::OsString;
use std::fmt::Write as _;

use syncline_analysis::model::Process;
use syncline_experiments::{Search, Tried};
use syncline_recording::command_line;
use syncline_statistics::Interval;
use syncline_try::{Comparison, Verdict};

use crate::attempt::show::{gain, given_up, open};
use syncline_present::number::counted;

/// Everything that was tried, including the locks that were not faster.
pub fn report(search: &Search<'_>, recorded: &[Process]) -> String {
    let mut text = String::new();
    // Writing to a text never fails.
    for process in recorded {
        let _ = writeln!(
            text,
            "Recorded: {:.2} s with {}, which waited {:.2} s for locks.",
            process.seconds,
            counted(process.threads.len(), "thread"),
            process.waiting.locks
        );
    }
    for tried in &search.tried {
        place(&mut text, tried);
    }
    text.push('\n');
    let total = search.total.as_ref().and_then(|outcome| outcome.others.first());
    match (total, search.policy.rules.is_empty()) {
        (Some(total), _) => {
            let _ = writeln!(
                text,
                "All kept replacements together, compared with the program's locks: {}",
                comparison_text(total)
            );
        }
        (None, true) => text.push_str("No replacement is kept: none is certainly faster.\n"),
        (None, false) => text.push_str("The kept replacements were not measured together.\n"),
    }
    text.push_str(
        "1.10x means 1.10 times as good. In 95 of 100 cases, all intervals contain the true \
         values.\n",
    );
    if search.interrupted {
        text.push_str("Interrupted: only the measurements before the interrupt count.\n");
    } else if search.enough > 0 {
        let _ = writeln!(text, "A verdict needs {} rounds: --at-most {0} or more.", search.enough);
    }
    text
}

fn place(text: &mut String, tried: &Tried) {
    let target = &tried.target;
    let _ = writeln!(text, "\n{}  ({:.2} s waited)", target.name, target.waited);
    if let Some(line) = target.prediction() {
        let _ = writeln!(text, "  {line}");
    }
    if tried.others.is_empty() {
        text.push_str("  not tried\n");
    }
    for (at, comparison) in tried.others.iter().enumerate() {
        let kept = if tried.kept == Some(at) { ", kept" } else { "" };
        let rounds = counted(comparison.rounds, "round");
        let _ = writeln!(
            text,
            "  {:<16} {}, {rounds}{kept}",
            comparison.name,
            comparison_text(comparison)
        );
    }
}

fn comparison_text(comparison: &Comparison) -> String {
    let of = |interval: &Interval, what: &str| gain(interval, what);
    match &comparison.verdict {
        Verdict::Better(_, interval) => of(interval, "faster"),
        Verdict::Worse(_, interval) => of(interval, "slower"),
        Verdict::Same(_, interval) => of(interval, "no difference"),
        Verdict::Undecided(_, interval, rounds) => of(interval, &open(*rounds)),
        Verdict::GivenUp(median, why) => given_up(*median, why),
        Verdict::TooFew(median) => format!("{median:.2}x  too few runs to say"),
        Verdict::Failed(why) => why.clone(),
    }
}

/// The comment at the beginning of the policy file.
pub fn comment(search: &Search<'_>, command: &[OsString]) -> Vec<String> {
    let command: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let mut lines = vec![format!("Measured by `syncline tune` on: {}", command_line(&command))];
    if let Some(total) = search.total.as_ref().and_then(|outcome| outcome.others.first()) {
        lines.push(format!("All rules together: {}", comparison_text(total)));
    }
    let losers = search.tried.iter().flat_map(|tried| {
        let lost = tried.others.iter().enumerate().filter(|(at, _)| tried.kept != Some(*at));
        lost.map(|(_, other)| {
            format!("  {} with {}: {}", tried.target.name, other.name, comparison_text(other))
        })
    });
    let losers: Vec<String> = losers.collect();
    if !losers.is_empty() {
        lines.push("Tried and not kept:".to_owned());
        lines.extend(losers);
    }
    lines
}
