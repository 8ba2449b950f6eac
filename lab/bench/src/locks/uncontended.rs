//! Uncontended locks: one thread acquires and releases a lock repeatedly.

use std::time::Instant;

use super::contender::{Contender, Kind};
use super::processors;
use crate::rounds::{self, Once};
use crate::statistics::spread;
use indicatif::ProgressBar;

/// The mode in which a lock is acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Exclusively.
    Alone,
    /// Shared, as a reader.
    Shared,
}

/// The times of a pair of calls of one lock, with one time for each round.
pub struct Timing<'a> {
    pub contender: &'a Contender,
    pub access: Access,
    pub nanoseconds: Vec<f64>,
}

impl Timing<'_> {
    pub fn kind(&self) -> Kind {
        self.contender.kind
    }

    pub fn median(&self) -> f64 {
        spread(&self.nanoseconds).median
    }
}

/// The number of pairs that are timed together, which take a fraction of a millisecond.
const PAIRS: u64 = 50_000;

/// Times the locks. In each round, locks of the same kind run right after each other, since most
/// are compared with each other.
pub fn run<'a>(
    contenders: &[&'a Contender],
    pairs_scale: f64,
    rounds: usize,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<Timing<'a>>> {
    let pairs = ((PAIRS as f64 * pairs_scale) as u64).max(1);
    let mut accesses: Vec<_> = contenders.iter().map(|&c| (c, Access::Alone)).collect();
    let shared = contenders.iter().filter(|c| c.kind.is_shared());
    accesses.extend(shared.map(|&c| (c, Access::Shared)));
    accesses.sort_by_key(|&(c, access)| (c.kind as usize, access as usize));

    let mut sides: Vec<Once<f64>> = Vec::new();
    for &(contender, access) in &accesses {
        let row = (contender.row)(1);
        sides.push(Box::new(move || {
            let start = Instant::now();
            match access {
                Access::Alone => row.pairs(pairs),
                Access::Shared => row.read_pairs(pairs),
            }
            Ok(start.elapsed().as_nanos() as f64 / pairs as f64)
        }));
    }
    let results = processors::staying_on_one(|| rounds::run(&mut sides, rounds, bar, 1))?;
    let timing = |((contender, access), nanoseconds)| Timing { contender, access, nanoseconds };
    Ok(accesses.into_iter().zip(results).map(timing).collect())
}
