//! The rounds at which an experiment's results are judged, and the probability of error that each
//! of these looks may spend.
//!
//! An experimenter who looks at the same numbers again and again, and stops when they please, errs
//! more often than with a single look. So the looks are fixed beforehand, and share the probability
//! of error: up to the look at round *n* of *N*, at most *n / N* of it may be spent. The
//! probability that *any* look so far has missed the true median can be calculated exactly.
//! Whatever the distribution, each draw lies below the true median with probability one half. So
//! the number of draws below it is a walk of coin tosses, and no look has missed the median if the
//! walk has stayed between the ranks of each look. Each look takes the narrowest ranks that its
//! share allows. That gives narrower intervals than a fixed part of the probability for each look,
//! because looks at nearly the same numbers are mostly wrong together.
//!
//! Source: Lan and DeMets, "Discrete sequential boundaries for clinical trials" (Biometrika 1983),
//! with their linear spending; repeated confidence intervals: Jennison and Turnbull, "Interim
//! analyses: the repeated confidence interval approach" (J. R. Statist. Soc. B 1989).

/// The number of rounds from one look to the next is the number before the first look, divided by
/// this. So there are few enough looks that each gets a useful share, and enough looks that few
/// rounds are run for nothing.
const STEPS: usize = 2;

/// The rounds at which an experiment's results are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// The rounds of each look, in order, with the share of the probability of error that may be
    /// spent by then.
    at: Vec<(usize, f64)>,
}

impl Looks {
    /// One look, after `rounds` rounds.
    pub fn once(rounds: usize) -> Looks {
        Looks { at: vec![(rounds, 1.0)] }
    }

    /// A first look after `first` rounds, then further ones, and a last one after `most`.
    pub fn several(first: usize, most: usize) -> Looks {
        let step = (first / STEPS).max(1);
        let before = (first..most).step_by(step);
        let at = before.map(|rounds| (rounds, rounds as f64 / most as f64));
        Looks { at: at.chain([(most, 1.0)]).collect() }
    }

    /// The number of rounds before the first look.
    pub fn first(&self) -> usize {
        self.at[0].0
    }

    /// The number of rounds of the next look, for an experiment that has run `rounds`; `None` after
    /// the last look.
    pub fn after(&self, rounds: usize) -> Option<usize> {
        self.at.iter().map(|&(at, _)| at).find(|&at| at > rounds)
    }

    /// The number of rounds of the last look.
    pub fn most(&self) -> usize {
        self.at.last().map_or(0, |&(rounds, _)| rounds)
    }

    /// The looks of a measurement that ended after `rounds` rounds, when its last look is made.
    #[must_use]
    pub fn ended(&self, rounds: usize) -> Looks {
        let before = self.at.iter().copied().filter(|&(at, _)| at < rounds);
        Looks { at: before.chain([(rounds, 1.0)]).collect() }
    }

    /// For each look, its number of rounds, and how many of the sorted draws its interval leaves
    /// out at each end, if all looks together may miss with probability `miss`. `None` for a look
    /// at which even the range of all draws would miss too often.
    pub fn cuts(&self, miss: f64) -> Vec<(usize, Option<usize>)> {
        // At index *i*: the probability that *i* draws are below the true median and no look has
        // missed it.
        let mut inside = vec![1.0];
        let mut missed = 0.0;
        let mut cuts = Vec::with_capacity(self.at.len());
        for &(rounds, share) in &self.at {
            while inside.len() <= rounds {
                inside = tossed(&inside);
            }
            let mut cut = None;
            for k in 0..rounds.div_ceil(2) {
                let ends = inside[k] + inside[rounds - k];
                if missed + ends > miss * share {
                    break;
                }
                missed += ends;
                (inside[k], inside[rounds - k]) = (0.0, 0.0);
                cut = Some(k);
            }
            cuts.push((rounds, cut));
        }
        cuts
    }

    /// The rounds of the first look that can have an interval; `None` if not even the last one can.
    pub fn says(&self, miss: f64) -> Option<usize> {
        let cuts = self.cuts(miss);
        cuts.into_iter().find(|(_, cut)| cut.is_some()).map(|(rounds, _)| rounds)
    }
}

/// The probabilities after one more draw, which is below the median or above it.
fn tossed(inside: &[f64]) -> Vec<f64> {
    let mut after = vec![0.0; inside.len() + 1];
    for (below, probability) in inside.iter().enumerate() {
        after[below] += probability / 2.0;
        after[below + 1] += probability / 2.0;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    /// The expected values are from printed tables of the binomial distribution.
    #[test]
    fn ranks_of_one_look_are_those_of_the_tables() {
        for (n, left_out) in [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (10, Some(1)),
            (12, Some(2)),
            (15, Some(3)),
            (20, Some(5)),
            (30, Some(9)),
        ] {
            assert_eq!(Looks::once(n).cuts(0.05), [(n, left_out)], "{n}");
        }
    }

    #[test]
    fn looks_are_spread_and_the_last_is_at_the_end() {
        let rounds = |looks: Looks| looks.at.iter().map(|&(at, _)| at).collect::<Vec<_>>();
        assert_eq!(rounds(Looks::several(10, 32)), [10, 15, 20, 25, 30, 32]);
        assert_eq!(rounds(Looks::several(1, 4)), [1, 2, 3, 4]);
        assert_eq!(rounds(Looks::several(7, 7)), [7]);
        assert_eq!(rounds(Looks::several(10, 40).ended(17)), [10, 15, 17]);
        assert_eq!(Looks::several(10, 40).after(10), Some(15));
        assert_eq!(Looks::several(10, 40).after(40), None);
        assert_eq!(Looks::several(8, 40).says(0.025), Some(12));
        assert_eq!(Looks::several(2, 4).says(0.05), None);
    }

    /// An experimenter who looks seven times with the interval of a single look errs more often
    /// than allowed: in more than 8 % of the trials, instead of 5 %. With these ranks, they err no
    /// more often than allowed, and not much less often.
    #[test]
    fn several_looks_together_miss_no_more_often_than_one_may() {
        const TRIALS: u32 = 20_000;
        let looks = Looks::several(10, 40);
        let cuts = looks.cuts(0.05);
        let mut random = fastrand::Rng::with_seed(5);
        let (mut sequential, mut naive) = (0, 0);
        for _ in 0..TRIALS {
            let draws: Vec<f64> = (0..40).map(|_| random.f64() - 0.5).collect();
            let misses = |(rounds, cut): (usize, Option<usize>)| {
                let interval = cut.map(|cut| Interval::cut(&draws[..rounds], cut));
                interval.is_some_and(|i| i.low > 0.0 || i.high < 0.0)
            };
            sequential += u32::from(cuts.iter().copied().any(misses));
            let alone = |&(rounds, _): &(usize, f64)| Looks::once(rounds).cuts(0.05)[0];
            naive += u32::from(looks.at.iter().map(alone).any(misses));
        }
        let share = |missed: u32| f64::from(missed) / f64::from(TRIALS);
        assert!((0.03..=0.054).contains(&share(sequential)), "{}", share(sequential));
        assert!(share(naive) > 0.08, "{}", share(naive));
    }
}
