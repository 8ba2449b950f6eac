//! The results of slowing a call site down: `syncline whatif`.

use serde::{Deserialize, Serialize};

/// The operations that were delayed at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delayed {
    /// Critical sections: each one was made longer.
    Section,
    /// Tries that were refused.
    Try,
    /// The ends of waits for an event.
    Wait,
    /// Calls that acquire, delayed before the acquisition.
    Call,
}

/// The shape of the curve: the run time as a function of the added time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A straight line: no bend can be seen.
    Straight,
    /// The curve gets steeper: longer delays have more effect.
    BendsUp,
    /// The curve gets flatter: longer delays have less effect.
    BendsDown,
}

/// A median, and a confidence interval for the true median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// Runs with a delay of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// The delay, in nanoseconds.
    pub nanoseconds: f64,
    /// The sum of all delays, as a share of the run time.
    pub added: f64,
    /// How much longer the run took, as a share of its time without delays. A median.
    pub longer: f64,
}

/// How the run time depends on the delays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Follows {
    /// The share of the added time by which the run takes longer: 1 if all of the added time
    /// lengthens the run, 0 if none. If less time were spent at the call site, the run would get
    /// shorter by the same share of the saving, as long as the saving is small.
    pub arrives: Range,
    /// Whether that share is the same for small and large delays.
    pub shape: Shape,
    /// How far the curve lies above its tangent at the longest delay, as a share of the run time.
    pub bend: Range,
}

/// The results of slowing a call site down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The call site, in the form of [`super::Finding::place`] or [`super::Remaining::place`], or
    /// as the user named it.
    pub place: String,
    /// The calls that were delayed, in the form in which they were passed to the program.
    pub calls: Vec<String>,
    /// What was delayed there.
    pub delayed: Delayed,
    /// How often these operations ran in a run without delays.
    pub times: f64,
    /// Seconds of a run without delays.
    pub seconds: f64,
    /// The results for each size of the delay.
    pub sizes: Vec<Delay>,
    /// The number of rounds that the results rest on.
    pub rounds: usize,
    /// How the run time depends on the delays; `None` if there were too few rounds, or if runs with
    /// delays failed.
    pub follows: Option<Follows>,
    /// Why runs with delays failed; `None` if they did not.
    pub failed: Option<String>,
    /// Nanoseconds that a section takes; `None` unless sections were delayed and a recording has
    /// the figure.
    pub section_nanoseconds: Option<f64>,
    /// An upper bound of the share by which the run would be shorter if sections took no time;
    /// `None` if unknown.
    pub saves_at_most: Option<Range>,
    /// The gain that the report predicts for the finding, as a share of the run time; `None`
    /// without a prediction.
    pub predicted: Option<f64>,
}

impl WhatIf {
    /// Nanoseconds by which the run becomes longer for each nanosecond that is added to every call
    /// at the call site; `None` if unknown.
    pub fn slope(&self) -> Option<Range> {
        let Range { median, low, high } = self.follows?.arrives;
        let times = self.times;
        Some(Range { median: median * times, low: low * times, high: high * times })
    }

    /// The share of the run that the sections of all threads take together; above 1 if several
    /// threads are in sections at a time. `None` if the time of a section is unknown.
    pub fn share_of_sections(&self) -> Option<f64> {
        Some(self.section_nanoseconds? * 1e-9 * self.times / self.seconds)
    }
}
