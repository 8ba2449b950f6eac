//! The work of each rank, which is the same on all tables: operations on random keys. A given share
//! of the operations are reads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;
use syncline::table::FlatTable;
use syncline_dht::{Mode, Table};
use syncline_fabric::Fabric;

/// The parameters of a load.
#[derive(Clone, Copy)]
pub struct Load {
    pub entries: u64,
    /// The number of operations of each rank.
    pub operations: u64,
    /// The percentage of operations that are reads.
    pub percent: u64,
}

/// A table with keys and values of 8 bytes.
pub trait Map {
    fn get(&self, key: u64) -> Option<u64>;
    fn put(&self, key: u64, value: u64);
}

impl<F: Fabric, M: Mode<F>> Map for Table<F, M> {
    #[inline]
    fn get(&self, key: u64) -> Option<u64> {
        let number = |value: &[u8]| value.try_into().map(u64::from_ne_bytes).expect("8 bytes");
        self.with(&key.to_ne_bytes(), |value| value.map(number)).expect("nobody has died")
    }
    fn put(&self, key: u64, value: u64) {
        self.put(&key.to_ne_bytes(), &value.to_ne_bytes()).expect("there is room");
    }
}

pub type Flat = FlatTable<u64, u64, foldhash::fast::RandomState>;

impl Map for Flat {
    #[inline]
    fn get(&self, key: u64) -> Option<u64> {
        self.get(&key).map(|value| *value)
    }
    fn put(&self, key: u64, value: u64) {
        self.insert(key, value);
    }
}

impl Load {
    /// Puts this rank's share of the entries into the table.
    pub fn fill(self, map: &impl Map, rank: usize, ranks: usize) {
        for key in (rank as u64..self.entries).step_by(ranks) {
            map.put(key, !key);
        }
    }

    /// Performs the operations of a rank, and returns how long they took in total.
    ///
    /// # Panics
    ///
    /// If a read finds nothing, or another key's value.
    pub fn run(self, map: &impl Map, rank: usize) -> Duration {
        let mut random = Rng::with_seed(rank as u64 + 1);
        let began = Instant::now();
        for _ in 0..self.operations {
            let drawn = random.u64(..);
            let key = drawn % self.entries;
            if (drawn >> 40) % 100 >= self.percent {
                map.put(key, !key);
            } else {
                let value = map.get(black_box(key));
                assert_eq!(value, Some(!key), "what was filled in is there");
            }
        }
        began.elapsed()
    }
}
