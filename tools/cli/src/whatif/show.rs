//! Formats the results as text.

use std::fmt::Write as _;

use syncline_analysis::model::WhatIf;
use syncline_present::number::{counted, duration, percent};
use syncline_report::whatif;
use syncline_targets::sites::Target;

use syncline_present::terminal::{Style, wrapped};

/// The results of all call sites. An interval needs at least `enough` rounds.
pub fn table(
    measured: &[(Target, WhatIf)],
    unreached: &[Target],
    enough: usize,
    style: &Style,
) -> String {
    let mut text = String::new();
    // Writing to a text never fails.
    for (target, one) in measured {
        place(&mut text, target, one);
    }
    for target in unreached {
        let _ = writeln!(text, "{}\n  not reached by this run\n", target.place);
    }
    let Some(rounds) = measured.iter().map(|(_, one)| one.rounds).max() else {
        return wrapped(text.trim_end(), style);
    };
    let rounds_text = counted(rounds, "round");
    let _ = writeln!(text, "Medians of {rounds_text}; only runs of the same round are compared.");
    text.push_str(&match rounds < enough {
        true => format!("An interval needs {enough} rounds: --runs {enough} or more.\n"),
        false => "In 95 of 100 cases, all intervals contain the true values.\n".to_owned(),
    });
    wrapped(&text, style)
}

fn place(text: &mut String, target: &Target, one: &WhatIf) {
    let _ = writeln!(text, "{}", target.place);
    if let Some(title) = &target.title {
        let _ = writeln!(text, "  {title}");
    }
    let _ = writeln!(text, "  {}; a run takes {}", whatif::what(one), duration(one.seconds));
    for size in &one.sizes {
        let _ = writeln!(
            text,
            "    {:>8} more each, {:>6} of the run in total: the run takes {:>6} longer",
            duration(size.nanoseconds * 1e-9),
            whatif::share(size.added),
            whatif::share(size.longer)
        );
    }
    let _ = writeln!(text, "  {}", whatif::arrives(one));
    if let Some(shape) = whatif::shape(one) {
        let _ = writeln!(text, "  {shape}");
    }
    if let Some(consequence) = whatif::consequence(one) {
        let predicted =
            one.predicted.map(|share| format!("; the report predicts {}", percent(share)));
        let _ = writeln!(text, "  {consequence}{}", predicted.unwrap_or_default());
    }
    text.push('\n');
}
