//! The tables of all libraries in the form that the benchmark uses. All tables that can grow have
//! the same hasher.

use std::collections::HashMap;
use std::sync::RwLock;

use foldhash::fast::RandomState;
use syncline::lock::{RawLock, Ttas};
use syncline::memory::Padded;
use syncline::table::{HashTable, LockTable, Storage};

use super::load::{Map, Step, Value};

/// The number of shards of the sharded `HashMap`, the most common hand-written solution.
const SHARDS: usize = 64;

/// A kind of table. `make` creates an empty one with room for this many entries.
#[derive(Clone, Copy)]
pub struct Contender<V> {
    pub name: &'static str,
    pub ours: bool,
    pub make: fn(usize) -> Box<dyn Running<V>>,
}

/// A table with the loops that use it, which are compiled for its type.
pub trait Running<V>: Sync {
    /// Runs the steps of a stream once.
    fn run(&self, stream: &[Step]);
    fn fill(&self, keys: &mut dyn Iterator<Item = u64>);
    /// The table runs only one step in this many.
    fn share(&self) -> usize {
        1
    }
}

/// A table whose operations the threads perform themselves.
struct Direct<M>(M);

impl<V: Value, M: Map<V>> Running<V> for Direct<M> {
    fn run(&self, stream: &[Step]) {
        stream.iter().for_each(|step| step.run(&self.0));
    }
    fn fill(&self, keys: &mut dyn Iterator<Item = u64>) {
        keys.for_each(|key| _ = self.0.put(key, V::of(key)));
    }
}

impl<V: Copy + Send + Sync, P> Map<V> for HashTable<u64, V, RandomState, P>
where
    P: Storage<u64, V> + Send + Sync,
{
    fn get(&self, key: u64) -> Option<V> {
        self.get(&key).map(|value| *value)
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.insert(key, value).map(|value| *value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.remove(&key).map(|value| *value)
    }
}

impl<V: Copy + Send, L: RawLock> Map<V> for LockTable<V, L> {
    fn get(&self, key: u64) -> Option<V> {
        self.get(key)
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.put(key, value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.remove(key)
    }
}

impl<V: Copy + Send + Sync> Map<V> for dashmap::DashMap<u64, V, RandomState> {
    fn get(&self, key: u64) -> Option<V> {
        self.get(&key).map(|value| *value)
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.insert(key, value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.remove(&key).map(|(_, value)| value)
    }
}

impl<V: Copy + Send + Sync> Map<V> for papaya::HashMap<u64, V, RandomState> {
    fn get(&self, key: u64) -> Option<V> {
        self.pin().get(&key).copied()
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.pin().insert(key, value).copied()
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.pin().remove(&key).copied()
    }
}

impl<V: Copy + Send + Sync + 'static> Map<V> for scc::HashMap<u64, V, RandomState> {
    fn get(&self, key: u64) -> Option<V> {
        self.read_sync(&key, |_, value| *value)
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.upsert_sync(key, value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.remove_sync(&key).map(|(_, value)| value)
    }
}

impl<V: Copy + Send + Sync + 'static> Map<V> for flurry::HashMap<u64, V, RandomState> {
    fn get(&self, key: u64) -> Option<V> {
        self.pin().get(&key).copied()
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.pin().insert(key, value).copied()
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.pin().remove(&key).copied()
    }
}

impl<V: Copy + Send + Sync> Map<V> for RwLock<HashMap<u64, V, RandomState>> {
    fn get(&self, key: u64) -> Option<V> {
        self.read().expect("no panics").get(&key).copied()
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.write().expect("no panics").insert(key, value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.write().expect("no panics").remove(&key)
    }
}

/// A `HashMap` for each shard, each under its own lock.
struct Sharded<V> {
    hasher: RandomState,
    shards: Vec<Padded<RwLock<HashMap<u64, V, RandomState>>>>,
}

impl<V: Copy + Send + Sync> Sharded<V> {
    fn new(capacity: usize) -> Self {
        let hasher = RandomState::default();
        let map = || HashMap::with_capacity_and_hasher(capacity / SHARDS, hasher.clone());
        let shards = (0..SHARDS).map(|_| Padded(RwLock::new(map()))).collect();
        Self { hasher, shards }
    }

    fn shard(&self, key: u64) -> &RwLock<HashMap<u64, V, RandomState>> {
        use std::hash::BuildHasher;
        // The shard is chosen by bits of the hash that the map itself does not use.
        &self.shards[(self.hasher.hash_one(key) >> 40) as usize % SHARDS]
    }
}

impl<V: Copy + Send + Sync> Map<V> for Sharded<V> {
    fn get(&self, key: u64) -> Option<V> {
        self.shard(key).get(key)
    }
    fn put(&self, key: u64, value: V) -> Option<V> {
        self.shard(key).put(key, value)
    }
    fn remove(&self, key: u64) -> Option<V> {
        self.shard(key).remove(key)
    }
}

/// A table whose operations the threads perform themselves.
macro_rules! contender {
    ($name:literal, $ours:literal, $make:expr) => {
        Contender { name: $name, ours: $ours, make: |capacity| Box::new(Direct($make(capacity))) }
    };
}

/// All tables that can grow, ours first.
pub fn contenders<V: Value>() -> Vec<Contender<V>> {
    use syncline::table::{FlatTable, Table};
    vec![
        contender!("flat table", true, |n| {
            FlatTable::<u64, V, RandomState>::with_capacity_and_hasher(n, RandomState::default())
        }),
        contender!("table", true, |n| Table::<u64, V, RandomState>::with_capacity_and_hasher(
            n,
            RandomState::default()
        )),
        contender!("dashmap", false, |n| dashmap::DashMap::<u64, V, _>::with_capacity_and_hasher(
            n,
            RandomState::default()
        )),
        contender!("papaya", false, |n| papaya::HashMap::<u64, V, _>::with_capacity_and_hasher(
            n,
            RandomState::default()
        )),
        contender!("scc", false, |n| scc::HashMap::<u64, V, _>::with_capacity_and_hasher(
            n,
            RandomState::default()
        )),
        contender!("flurry", false, |n| flurry::HashMap::<u64, V, _>::with_capacity_and_hasher(
            n,
            RandomState::default()
        )),
        contender!("RwLock<HashMap>", false, |n| RwLock::new(
            HashMap::<u64, V, _>::with_capacity_and_hasher(n, RandomState::default())
        )),
        contender!("64 RwLock<HashMap>", false, Sharded::<V>::new),
    ]
}

/// The paper's table with this many buckets.
pub fn paper_table<V: Value, const BUCKETS: usize>() -> Contender<V> {
    contender!("lock table", true, |n: usize| LockTable::<V, Ttas>::new(BUCKETS, n / BUCKETS))
}
