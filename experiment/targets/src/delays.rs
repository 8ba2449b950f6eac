//! The sizes of delays, and the results of measurements with them.
//!
//! With the longest size, all delays of a run together would make the run longer by a given share
//! if each delay lengthened the run by its full length. The other sizes are a half and a quarter of
//! that. So the effect of a call site that matters is larger than the noise of runs, and the
//! shortest delay is near zero.

use syncline_analysis::model::{Delay, Delayed, Follows, Range, Shape, WhatIf};
use syncline_statistics::Interval;
use syncline_try::{Response, Shape as Seen};

/// The number of sizes of delays.
pub const COUNT: usize = 3;
/// The shortest delay in nanoseconds. A shorter one would not be exact, because it takes two
/// readings of the counter.
const SHORTEST: f64 = 40.0;

/// The sizes, in nanoseconds, for operations that happen `rate` times a second; `longest` is the
/// share of the run that all of the longest delays take. The delays take more if the shortest one
/// would otherwise be below `SHORTEST`.
pub fn sizes(rate: f64, longest: f64) -> Vec<f64> {
    let longest = longest / rate * 1e9;
    let shortest = (longest / 4.0).max(SHORTEST).round();
    vec![shortest, 2.0 * shortest, 4.0 * shortest]
}

/// The measurements of a call site: the cost of a run in each round, without delays and for each
/// size.
pub struct Added<'a> {
    /// The sizes of the delays.
    pub nanoseconds: &'a [f64],
    /// For each size, all delays of a run together, as a share of a run without delays.
    pub added: Vec<f64>,
    /// The costs without delays.
    pub own: Vec<f64>,
    /// For each size, the costs with delays of this size.
    pub others: Vec<Vec<f64>>,
}

impl Added<'_> {
    /// For each size, the share by which the run became longer.
    pub fn sizes(&self) -> Vec<Delay> {
        let longer = |costs: &Vec<f64>| {
            let mut ratios: Vec<f64> = costs.iter().zip(&self.own).map(|(c, o)| c / o).collect();
            ratios.sort_by(f64::total_cmp);
            ratios.get(ratios.len() / 2).map_or(0.0, |ratio| ratio - 1.0)
        };
        let sizes = self.nanoseconds.iter().zip(&self.added).zip(&self.others);
        let delay =
            |((&nanoseconds, &added), costs)| Delay { nanoseconds, added, longer: longer(costs) };
        sizes.map(delay).collect()
    }

    /// The response of the run to the delays; `None` if there are too few rounds.
    pub fn follows(&self, miss: f64) -> Option<Follows> {
        let rounds = self.others.iter().map(Vec::len).min()?.min(self.own.len());
        let round = |at: usize| {
            let others = self.others.iter().map(|costs| costs[at]);
            std::iter::once(self.own[at]).chain(others).collect()
        };
        let rounds: Vec<Vec<f64>> = (0..rounds).map(round).collect();
        let response = Response::of(&rounds, &self.added, miss)?;
        Some(Follows {
            arrives: range(response.slope),
            shape: match response.shape {
                Seen::Straight => Shape::Straight,
                Seen::Upwards => Shape::BendsUp,
                Seen::Downwards => Shape::BendsDown,
            },
            bend: range(response.bend),
        })
    }
}

fn range(Interval { median, low, high }: Interval) -> Range {
    Range { median, low, high }
}

/// The largest share by which the run would be shorter without these sections: their share of the
/// run, multiplied by the share of delays that lengthens the run. `None` if the delays were not in
/// sections, or if something is unknown.
pub fn saves_at_most(whatif: &WhatIf) -> Option<Range> {
    if whatif.delayed != Delayed::Section {
        return None;
    }
    let Range { median, low, high } = whatif.follows?.arrives;
    let sections = whatif.share_of_sections()?;
    let saves = |arrives: f64| (arrives * sections).clamp(0.0, 1.0);
    Some(Range { median: saves(median), low: saves(low), high: saves(high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_delays_make_the_share_that_is_asked_for() {
        // For a thousand operations a second, 0.4 ms each is 40 %.
        assert_eq!(sizes(1000.0, 0.4), [100_000.0, 200_000.0, 400_000.0]);
        // For ten million operations a second, the sizes are not shorter than can be measured.
        assert_eq!(sizes(1e7, 0.4), [40.0, 80.0, 160.0]);
    }

    #[test]
    fn what_was_measured_becomes_shares_of_the_run() {
        let costs = |times: f64| vec![2.0 * times; 10];
        let added = Added {
            nanoseconds: &[100_000.0, 200_000.0, 400_000.0],
            added: vec![0.1, 0.2, 0.4],
            own: costs(1.0),
            others: vec![costs(1.08), costs(1.16), costs(1.32)],
        };
        let sizes = added.sizes();
        assert!((sizes[2].longer - 0.32).abs() < 1e-9, "{sizes:?}");
        let follows = added.follows(0.05).expect("ten rounds");
        assert!((follows.arrives.median - 0.8).abs() < 1e-9, "{follows:?}");
        assert_eq!(follows.shape, Shape::Straight);
    }
}
