//! The operations on tables: streams of steps, which are drawn before anything is measured.

use std::hint::black_box;

use fastrand::Rng;
use syncline::table::TableClient;
use syncline::wait::Park;

/// A table under test.
pub trait Map<V>: Send + Sync {
    fn get(&self, key: u64) -> Option<V>;
    fn put(&self, key: u64, value: V) -> Option<V>;
    fn remove(&self, key: u64) -> Option<V>;
}

/// The payload of a key.
pub trait Value: Copy + Send + Sync + 'static {
    fn of(key: u64) -> Self;
}

impl Value for u64 {
    fn of(key: u64) -> u64 {
        key
    }
}

/// The paper's payload of 64 bytes.
impl Value for [u64; 8] {
    fn of(key: u64) -> Self {
        [key; 8]
    }
}

/// The numbers of puts and of removals among a hundred operations. All other operations are gets.
#[derive(Clone, Copy)]
pub struct Mix {
    pub name: &'static str,
    pub puts: u32,
    pub removes: u32,
}

pub const PAPER: Mix = Mix { name: "80/10/10", puts: 10, removes: 10 };
pub const MIXES: [Mix; 4] = [
    Mix { name: "read", puts: 0, removes: 0 },
    Mix { name: "98/1/1", puts: 1, removes: 1 },
    Mix { name: "update 50", puts: 50, removes: 0 },
    Mix { name: "50/25/25", puts: 25, removes: 25 },
];

/// The distribution of keys.
#[derive(Clone, Copy)]
pub enum Skew {
    Uniform,
    /// A key's frequency is proportional to its rank to the power of -0.99 (YCSB's exponent).
    Zipf,
}

const EXPONENT: f64 = 0.99;

/// An operation: the number of its key, with the kind of the operation in the upper two bits.
#[derive(Clone, Copy)]
pub struct Step(u32);

const PUT: u32 = 1 << 30;
const REMOVE: u32 = 2 << 30;
const KEY: u32 = PUT - 1;

/// The key with this number. Keys are scattered, because the keys of programs are neither small nor
/// dense.
pub fn key(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

impl Step {
    /// The kind of the operation, and its key.
    #[inline(always)]
    fn parts(self) -> (u32, u64) {
        (self.0 & !KEY, key(u64::from(self.0 & KEY)))
    }

    /// Asks the key's server to perform the operation.
    pub fn ask<V: Value>(self, client: &mut TableClient<V, Park>) {
        let result = match self.parts() {
            (PUT, key) => client.put(key, V::of(key)),
            (REMOVE, key) => client.remove(key),
            (_, key) => client.get(key),
        };
        let _ = black_box(result.expect("it is served"));
    }

    #[inline(always)]
    pub fn run<V: Value, M: Map<V>>(self, map: &M) {
        let result = match self.parts() {
            (PUT, key) => map.put(key, V::of(key)),
            (REMOVE, key) => map.remove(key),
            (_, key) => map.get(key),
        };
        black_box(result);
    }
}

/// Draws the numbers of the keys, with the frequencies of this distribution.
pub fn numbers(keys: usize, skew: Skew, steps: usize, random: &mut Rng) -> Vec<u32> {
    match skew {
        Skew::Uniform => (0..steps).map(|_| random.u32(..keys as u32)).collect(),
        Skew::Zipf => {
            let mut sum = 0.0;
            let weight = |rank: usize| {
                sum += (rank as f64).powf(-EXPONENT);
                sum
            };
            let sums: Vec<f64> = (1..=keys).map(weight).collect();
            // The order is shuffled, so that a key's frequency is independent of its number.
            let mut order: Vec<u32> = (0..keys as u32).collect();
            Rng::with_seed(keys as u64).shuffle(&mut order);
            let draw = |_| {
                let at = random.f64() * sums[keys - 1];
                order[sums.partition_point(|&sum| sum < at).min(keys - 1)]
            };
            (0..steps).map(draw).collect()
        }
    }
}

/// Makes a stream of steps on these keys.
pub fn stream(numbers: &[u32], mix: Mix, random: &mut Rng) -> Vec<Step> {
    let step = |&number: &u32| {
        let draw = random.u32(..100);
        let what = match draw {
            _ if draw < mix.puts => PUT,
            _ if draw < mix.puts + mix.removes => REMOVE,
            _ => 0,
        };
        Step(number | what)
    };
    numbers.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_the_mix_and_the_skew() {
        let mut random = Rng::with_seed(1);
        let drawn = numbers(1000, Skew::Zipf, 100_000, &mut random);
        let mut counts = vec![0; 1000];
        drawn.iter().for_each(|&number| counts[number as usize] += 1);
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        // 1 over the sum of rank^-0.99 up to 1000 is 0.1295. The second key has 2^-0.99 of that.
        assert!((12_000..14_000).contains(&counts[0]), "{}", counts[0]);
        assert!((6_000..7_100).contains(&counts[1]), "{}", counts[1]);
        let steps = stream(&drawn, PAPER, &mut random);
        let puts = steps.iter().filter(|step| step.0 & !KEY == PUT).count();
        assert!((9_500..10_500).contains(&puts), "{puts}");
        assert!(steps.iter().zip(&drawn).all(|(step, &number)| step.0 & KEY == number));
    }
}
