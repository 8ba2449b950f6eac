//! A part of a claim: our number, the paper's number, and whether the part holds.

use crate::figures::sentence::number;

/// A part of a claim.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Part {
    /// The subject of the part. It begins with the machine's name if there are several machines.
    pub what: String,
    /// Our result.
    pub ours: String,
    /// The paper's result.
    pub paper: String,
    /// Whether the part holds.
    pub holds: bool,
    /// Whether our result is an input of the simulation, or follows directly from an input. A part
    /// that holds by construction is not evidence.
    pub by_construction: bool,
}

/// Values that differ by at most this share count as equal: SSYNC's own spread is up to 3 %.
pub const SAME: f64 = 0.05;

/// A part that holds if our number differs from the paper's by at most the share `within` of the
/// paper's.
pub fn near(what: impl Into<String>, ours: f64, paper: f64, within: f64) -> Part {
    between(what, ours, (paper, paper), within).named(number(paper))
}

/// A part that holds if our number is in the paper's range, widened by the share `within` on both
/// sides.
pub fn between(what: impl Into<String>, ours: f64, (least, most): (f64, f64), within: f64) -> Part {
    Part {
        what: what.into(),
        ours: number(ours),
        paper: format!("{} to {}", number(least), number(most)),
        holds: ours >= least * (1.0 - within) && ours <= most * (1.0 + within),
        by_construction: false,
    }
}

/// A part that the caller has checked: it holds if `holds` is true. `paper` has the paper's result
/// in words.
pub fn that(what: impl Into<String>, holds: bool, ours: impl Into<String>, paper: &str) -> Part {
    let (what, ours, paper) = (what.into(), ours.into(), paper.to_owned());
    Part { what, ours, paper, holds, by_construction: false }
}

impl Part {
    fn named(self, paper: String) -> Part {
        Part { paper, ..self }
    }

    /// This part, marked as one whose result is an input or follows from an input.
    pub fn by_construction(self) -> Part {
        Part { by_construction: true, ..self }
    }

    /// This part, with "not simulated" in place of our number if the value is missing (NaN).
    pub fn if_there(self, value: f64) -> Part {
        match value.is_nan() {
            true => Part { ours: "not simulated".to_owned(), ..self },
            false => self,
        }
    }
}

/// The median of some numbers; 0 if there are none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    syncline_statistics::median(&values).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_off_by_its_share_and_not_more() {
        assert!(near("x", 124.9, 100.0, 0.25).holds && near("x", 75.1, 100.0, 0.25).holds);
        assert!(!near("x", 125.1, 100.0, 0.25).holds && !near("x", 74.9, 100.0, 0.25).holds);
        assert!(!near("x", f64::NAN, 100.0, 0.25).holds, "NaN does not hold");
        assert_eq!(near("x", 1.0, 720_000.0, 0.1).paper, "720,000");
    }

    #[test]
    fn a_range_is_widened_on_both_sides() {
        let range = |ours| between("x", ours, (350.0, 450.0), 0.1).holds;
        assert!(range(315.0) && range(494.0) && !range(314.0) && !range(496.0));
    }
}
