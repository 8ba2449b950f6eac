//! Texts about the results of slowing a call site down, for `syncline whatif` and for the reports.

use syncline_analysis::model::{Delayed, Range, Shape, WhatIf};
use syncline_present::number::{count, duration};

/// The whole result as one sentence.
pub fn sentence(whatif: &WhatIf) -> String {
    let said = [Some(arrives(whatif)), shape(whatif).map(str::to_owned), consequence(whatif)];
    said.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The operations that were delayed, as text: how many there are in a run, and how long each takes.
pub fn what(whatif: &WhatIf) -> String {
    let what = match whatif.delayed {
        Delayed::Section => "critical sections",
        Delayed::Try => "refused tries",
        Delayed::Wait => "ends of waits",
        Delayed::Call => "calls that acquire",
    };
    let each = whatif.section_nanoseconds.map(|ns| format!(", of {} each", duration(ns * 1e-9)));
    let times = count(whatif.times.round() as u64);
    format!("{times} {what} a run{}", each.unwrap_or_default())
}

/// An effect matters if the run gets longer by more than this share of the added time.
const LITTLE: f64 = 0.2;

/// Whether a confidence interval excludes an effect that matters. `Some(false)` if it shows an
/// effect, however small; `None` if it shows neither.
fn is_nothing(arrives: Range) -> Option<bool> {
    match arrives {
        Range { low, .. } if low > 0.0 => Some(false),
        Range { high, .. } if high <= LITTLE => Some(true),
        _ => None,
    }
}

/// By which share of the added time the run gets longer, as text.
pub fn arrives(whatif: &WhatIf) -> String {
    if let Some(failed) = &whatif.failed {
        return format!("with delays the program {}", failed.lines().next().unwrap_or("failed"));
    }
    let (Some(follows), Some(slope)) = (whatif.follows, whatif.slope()) else {
        return "too few rounds to say how the run time responds".to_owned();
    };
    let Range { median, low, high } = follows.arrives;
    let interval = format!("{} to {}", share(low), share(high));
    match is_nothing(follows.arrives) {
        Some(false) => format!(
            "{} of the added time arrives in the run ({interval}): one nanosecond more in each costs \
             the run {}",
            share(median),
            duration(slope.median * 1e-9)
        ),
        Some(true) if high < 0.0 => {
            format!("the run gets shorter by {} of the added time ({interval})", share(-median))
        }
        Some(true) => {
            format!("no effect seen: at most {} of the added time arrives in the run", share(high))
        }
        None => format!(
            "undecided: {interval} of the added time arrives in the run; more runs or a quieter \
             machine would decide"
        ),
    }
}

/// A share in percent, as text. The share may be below zero or above one.
pub fn share(share: f64) -> String {
    match (share * 100.0).abs() {
        percent if percent < 99.95 => format!("{:.1} %", share * 100.0),
        _ => format!("{:.0} %", share * 100.0),
    }
}

/// Whether the run gets longer by the same share of the added time for delays of all sizes, as
/// text; `None` if unknown.
pub fn shape(whatif: &WhatIf) -> Option<&'static str> {
    Some(match whatif.follows?.shape {
        Shape::Straight => "the run time follows the delay linearly",
        Shape::BendsUp => "longer delays cost more than in proportion; this is the slope at zero",
        Shape::BendsDown => "longer delays cost less than in proportion; this is the slope at zero",
    })
}

/// The meaning of the result for the run, as text; `None` if there is nothing to say.
pub fn consequence(whatif: &WhatIf) -> Option<String> {
    let nothing = is_nothing(whatif.follows?.arrives);
    match (whatif.delayed, whatif.saves_at_most) {
        (Delayed::Section, Some(Range { median, low, high })) => {
            let interval = format!("{} to {}", share(low), share(high));
            let shorter = match nothing {
                Some(false) => format!("{} shorter ({interval})", share(median)),
                Some(true) | None => format!("{} shorter", share(high)),
            };
            Some(format!("without these sections the run would be at most {shorter}"))
        }
        (Delayed::Try, _) if nothing == Some(true) => {
            Some("the run does not wait for the tries, but for what they wait for".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncline_analysis::model::{Follows, Range};

    fn whatif(delayed: Delayed, low: f64, high: f64, saves: bool) -> WhatIf {
        let range = |low: f64, high: f64| Range { median: (low + high) / 2.0, low, high };
        let follows =
            Follows { arrives: range(low, high), shape: Shape::Straight, bend: range(-0.01, 0.01) };
        WhatIf {
            place: "push at queue.c:12".to_owned(),
            calls: Vec::new(),
            delayed,
            times: 1000.0,
            seconds: 1.0,
            sizes: Vec::new(),
            rounds: 10,
            follows: Some(follows),
            failed: None,
            section_nanoseconds: saves.then_some(500_000.0),
            saves_at_most: saves.then_some(range(low / 2.0, high / 2.0)),
            predicted: None,
        }
    }

    #[test]
    fn the_arriving_share_and_the_bound_are_reported() {
        let text = sentence(&whatif(Delayed::Section, 0.8, 1.0, true));
        assert_eq!(
            text,
            "90.0 % of the added time arrives in the run (80.0 % to 100 %): one nanosecond more in each \
             costs the run 900 ns; the run time follows the delay linearly; without these sections the \
             run would be at most 45.0 % shorter (40.0 % to 50.0 %)"
        );
        assert!(what(&whatif(Delayed::Section, 0.8, 1.0, true)).contains("of 500 µs each"));
    }

    #[test]
    fn no_effect_is_reported() {
        let text = sentence(&whatif(Delayed::Try, -0.1, 0.04, false));
        assert!(text.starts_with("no effect seen") && text.contains("at most 4.0 %"), "{text}");
        assert!(text.contains("does not wait for the tries"), "{text}");
        let shorter = arrives(&whatif(Delayed::Try, -0.3, -0.1, false));
        assert!(shorter.contains("shorter by 20.0 %"), "{shorter}");
    }

    #[test]
    fn an_interval_from_nothing_to_all_is_undecided() {
        let text = sentence(&whatif(Delayed::Section, -0.5, 3.1, true));
        assert!(text.starts_with("undecided") && text.contains("-50.0 % to 310 %"), "{text}");
        assert!(text.ends_with("at most 155 % shorter"), "{text}");
    }

    #[test]
    fn failures_and_too_few_rounds_are_reported() {
        let mut none = whatif(Delayed::Wait, 0.0, 1.0, false);
        none.follows = None;
        assert!(sentence(&none).contains("too few rounds"));
        none.failed = Some("ended with status 3\nand more".to_owned());
        assert_eq!(sentence(&none), "with delays the program ended with status 3");
    }
}
