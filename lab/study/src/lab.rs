//! Runs many measurements: side by side where they are simulated, one by one where they are not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::world::World;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// As little as tells anything: for tests.
    Small,
    /// Each point once.
    Quick,
    /// Each point five times, as SSYNC did: for figures that get published.
    Full,
}

/// What measurements need besides a machine.
#[derive(Clone, Copy, Debug)]
pub struct Lab {
    /// How much to measure.
    pub effort: Effort,
    /// Decides what is chance.
    pub seed: u64,
}

/// Simulations of one point on different seeds, or measurements.
const REPETITIONS: u64 = 5;
/// Seconds here in which a point is measured.
const HERE: f64 = 0.1;
/// A share of the time measured goes before, to warm up: caches, and the order of arrivals.
const WARM_UP: f64 = 0.2;

impl Lab {
    /// Seconds of warm-up and of measurement where a simulated machine takes this many.
    pub fn window<W: World>(&self, simulated: f64) -> (f64, f64) {
        let (warm_up, measured) = self.whole_window::<W>(simulated);
        let share = if self.effort == Effort::Small { 0.25 } else { 1.0 };
        (warm_up * share, measured * share)
    }

    /// The same, and not shorter for tests: where less would measure cold caches only.
    pub fn whole_window<W: World>(&self, simulated: f64) -> (f64, f64) {
        let seconds = if W::SIMULATED { simulated } else { HERE };
        (seconds * WARM_UP, seconds)
    }

    /// The seeds of a point's repetitions.
    fn seeds(&self) -> impl Iterator<Item = u64> {
        let repetitions = if self.effort == Effort::Full { REPETITIONS } else { 1 };
        (0..repetitions).map(|repetition| self.seed + repetition)
    }

    /// Measures a number at each of these points: the average of repetitions. Simulations run on
    /// all processors of this machine; what is measured on it runs alone.
    pub fn measure<W: World, T: Sync>(
        &self,
        points: &[T],
        measure: impl Fn(&T, u64) -> f64 + Sync,
    ) -> Vec<f64> {
        let workers = match W::SIMULATED {
            true => thread::available_parallelism().map_or(1, usize::from),
            false => 1,
        };
        let next = AtomicUsize::new(0);
        let results = Mutex::new(vec![0.0; points.len()]);
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    // Relaxed: a ticket; the results are under a lock.
                    while let Some((number, point)) = take(points, next.fetch_add(1, Relaxed)) {
                        let (sum, count) = self
                            .seeds()
                            .map(|seed| measure(point, seed))
                            .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                        results.lock().expect("nobody panics with it")[number] = sum / count;
                    }
                });
            }
        });
        results.into_inner().expect("nobody panics with it")
    }
}

fn take<T>(points: &[T], number: usize) -> Option<(usize, &T)> {
    points.get(number).map(|point| (number, point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Here;

    #[test]
    fn points_keep_their_order_and_are_averaged() {
        let lab = Lab { effort: Effort::Full, seed: 10 };
        let found = lab.measure::<Here, _>(&[100.0, 200.0], |point, seed| point + seed as f64);
        assert_eq!(found, [112.0, 212.0]);
    }
}
