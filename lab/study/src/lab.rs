//! Runs many measurements: in parallel on simulated machines, and one after another on this
//! machine.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::world::World;

/// The number of measurements that a study makes for each point of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// One measurement of each point, usually a shortened one; for tests.
    Small,
    /// One measurement of each point.
    Quick,
    /// Five measurements of each point, as in SSYNC; for published figures.
    Full,
}

/// The parameters of a study, apart from the machines.
#[derive(Clone, Copy, Debug)]
pub struct Lab {
    /// The number of measurements of each point.
    pub effort: Effort,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The number of measurements of each point with [`Effort::Full`], each with another seed.
const REPETITIONS: u64 = 5;
/// Seconds of measurement for each point on this machine.
const HERE: f64 = 0.1;
/// The duration of the warm-up, as a share of the measured time. During the warm-up, caches fill
/// and the order of arrivals becomes random.
const WARM_UP: f64 = 0.2;

impl Lab {
    /// Seconds of warm-up, and seconds of measurement. The latter are `simulated` seconds on a
    /// simulated machine, and `HERE` seconds on this one; tests take a quarter of both.
    pub fn window<W: World>(&self, simulated: f64) -> (f64, f64) {
        let (warm_up, measured) = self.whole_window::<W>(simulated);
        let share = if self.effort == Effort::Small { 0.25 } else { 1.0 };
        (warm_up * share, measured * share)
    }

    /// Like [`window`](Self::window), but not shortened for tests: for measurements that would see
    /// only cold caches in a shorter window.
    pub fn whole_window<W: World>(&self, simulated: f64) -> (f64, f64) {
        let seconds = if W::SIMULATED { simulated } else { HERE };
        (seconds * WARM_UP, seconds)
    }

    /// The seeds of a point's repetitions.
    fn seeds(&self) -> impl Iterator<Item = u64> {
        let repetitions = if self.effort == Effort::Full { REPETITIONS } else { 1 };
        (0..repetitions).map(|repetition| self.seed + repetition)
    }

    /// Calls `measure` with each point, once for each repetition with that repetition's seed.
    /// Returns the average of each point. Simulations run on all processors of this machine.
    /// Measurements of this machine run one at a time.
    pub fn measure<W: World, T: Sync>(
        &self,
        points: &[T],
        measure: impl Fn(&T, u64) -> f64 + Sync,
    ) -> Vec<f64> {
        let seeds: Vec<u64> = self.seeds().collect();
        let runs: Vec<(&T, u64)> =
            points.iter().flat_map(|point| seeds.iter().map(move |&seed| (point, seed))).collect();
        let values = each::<W, _, _>(&runs, |&(point, seed)| measure(point, seed));
        let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        values.chunks(seeds.len()).map(average).collect()
    }
}

/// Calls `run` with each item, and returns the results in the order of the items. Simulations run
/// on all processors of this machine. Measurements of this machine run one at a time.
pub fn each<W: World, T: Sync, R: Send>(all: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = match W::SIMULATED {
        true => thread::available_parallelism().map_or(1, usize::from),
        false => 1,
    };
    side_by_side(workers, all, run)
}

/// Calls `run` with each item, and returns the results in the order of the items. At most `workers`
/// calls run at a time; they start in the order of the items.
///
/// # Panics
/// If `run` panics.
pub fn side_by_side<T: Sync, R: Send>(
    workers: usize,
    all: &[T],
    run: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        loop {
            // Relaxed: this only draws a number; joining a thread orders the accesses to its
            // results.
            let number = next.fetch_add(1, Relaxed);
            let Some(one) = all.get(number) else { return results };
            results.push((number, run(one)));
        }
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended.flat_map(|results| results.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    results.sort_unstable_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Elsewhere, Here};

    #[test]
    fn points_keep_their_order_and_are_averaged() {
        let lab = Lab { effort: Effort::Full, seed: 10 };
        let found = lab.measure::<Here, _>(&[100.0, 200.0], |point, seed| point + seed as f64);
        assert_eq!(found, [112.0, 212.0]);
        let found = lab.measure::<Elsewhere<'_>, _>(&[1.0; 100], |point, seed| point + seed as f64);
        assert_eq!(found, [13.0; 100]);
    }

    #[test]
    fn results_are_in_order_however_long_they_take() {
        let all: Vec<u64> = (0..20).collect();
        let found = side_by_side(3, &all, |&number| {
            thread::sleep(std::time::Duration::from_millis(number * 7 % 10));
            number
        });
        assert_eq!(found, all);
    }
}
