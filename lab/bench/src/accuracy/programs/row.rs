//! The results of a program, and the figures that are derived from them.

use super::runs::Shown;
use crate::programs::description::Description;
use crate::statistics::median;

/// A program with its results.
pub struct Row {
    pub known: Description,
    pub idle: Shown,
    /// The largest share that a fix can gain, as `whatif` measured it on the idle machine.
    pub bound: Option<f64>,
    pub busy: Shown,
}

impl Row {
    pub fn is_found(&self) -> bool {
        self.known.has_problem() && self.idle.all_found() && self.busy.all_found()
    }

    pub fn has_false_alarm(&self) -> bool {
        self.idle.has_false_alarm() || self.busy.has_false_alarm()
    }

    /// The difference between prediction and measurement in percentage points, both on the idle
    /// machine.
    pub fn gain_error(&self) -> Option<f64> {
        let (promised, measured) = (self.idle.promised()?, self.idle.gain()?);
        Some(100.0 * (promised - measured).abs())
    }

    /// The difference between the bound and the measured gain in percentage points, both on the
    /// idle machine.
    pub fn bound_error(&self) -> Option<f64> {
        Some(100.0 * (self.bound? - self.idle.gain()?).abs())
    }
}

impl Shown {
    /// Whether the problem was the first finding in the latest run.
    pub fn is_first(&self) -> bool {
        self.verdicts.last().is_some_and(|verdict| verdict.found == Some(0))
    }

    pub fn hits(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.found.is_some()).count()
    }

    pub fn all_found(&self) -> bool {
        self.hits() == self.verdicts.len()
    }

    pub fn has_false_alarm(&self) -> bool {
        let alarms = self.verdicts.iter().filter(|verdict| !verdict.false_alarms.is_empty());
        2 * alarms.count() > self.verdicts.len()
    }

    pub fn promised(&self) -> Option<f64> {
        let promised: Vec<f64> = self.verdicts.iter().filter_map(|v| v.promised).collect();
        (!promised.is_empty()).then(|| median(&promised))
    }

    /// The gain of the fixed variant, as a share of the run time.
    pub fn gain(&self) -> Option<f64> {
        let gains: Vec<f64> =
            self.mended.iter().map(|(as_is, mended)| 1.0 - mended / as_is).collect();
        (!gains.is_empty()).then(|| median(&gains))
    }

    /// The time with recording over the time without, as the median over the runs.
    pub fn cost(&self) -> f64 {
        let ratios: Vec<f64> = self.cost.iter().map(|(alone, with)| with / alone).collect();
        median(&ratios)
    }
}
