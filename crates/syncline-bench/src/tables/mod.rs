//! The library's hash tables beside others, on as many threads as there are processors.
//!
//! - The paper's mix (SSYNC, section 6.3): 512 and 12 buckets, 12 and 48 keys in each, 64 bytes.
//! - Standard mixes over several sizes and skews, 64-bit keys and values; and filling an empty
//!   table.
//! - Memory for an entry.
//!
//! All tables of a case run one after the other in each round, on the same streams of steps.

mod load;
mod peers;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use indicatif::ProgressBar;
use serde::Serialize;

use self::load::{MIXES, PAPER, Skew, Step, Value, key, numbers, stream};
use self::peers::{Contender, Running, contenders, paper_table};
use crate::rounds::{self, Once};
use crate::statistics::Spread;
use crate::{Size, heap};

/// The last line of output: throughput of ours over that of the best peer.
#[derive(Serialize)]
struct Summary {
    paper_mix_ratio: f64,
    standard_worst_ratio: f64,
}

/// The same for `--help`.
pub const FIELDS: &str = "
  Ratios are throughput of our best table over that of the best peer in the same rounds: 1 is
  equal, more is better. Each is the median over the rounds.

  paper_mix_ratio       the paper's mix of operations: the worst of its four configurations
  standard_worst_ratio  the worst of all other cases
";

/// Steps of each thread in a run: a run has no clock to look at.
const STEPS: [usize; 3] = [2_000, 150_000, 1_000_000];

/// Runs all cases.
///
/// # Errors
/// None; as every benchmark.
pub fn run(size: Size) -> anyhow::Result<String> {
    let bench = Bench {
        steps: size.pick(STEPS[0], STEPS[1], STEPS[2]),
        rounds: size.pick(1, 5, 15),
        threads: thread::available_parallelism().map_or(2, |n| n.get()),
    };
    println!(
        "{} threads; million operations a second: median of {} rounds; the ratio is ours to the \
         best peer's,\nwith its 95 % interval",
        bench.threads, bench.rounds
    );
    let paper = [
        bench.paper::<512>(12)?,
        bench.paper::<512>(48)?,
        bench.paper::<12>(12)?,
        bench.paper::<12>(48)?,
    ];
    let sizes: &[usize] =
        size.pick(&[100], &[1_000, 100_000, 1_000_000], &[1_000, 30_000, 1_000_000, 10_000_000]);
    let mut standard = Vec::new();
    for &entries in sizes {
        standard.extend(bench.standard(entries)?);
    }
    standard.push(bench.filling(size.pick(1_000, 200_000, 1_000_000))?);
    memory(size.pick(1_000, 100_000, 1_000_000));
    println!();
    let worst = |ratios: &[f64]| ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let rounded = |ratio: f64| (ratio * 1e4).round() / 1e4;
    let summary = Summary {
        paper_mix_ratio: rounded(worst(&paper)),
        standard_worst_ratio: rounded(worst(&standard)),
    };
    Ok(serde_json::to_string(&summary)?)
}

struct Bench {
    steps: usize,
    rounds: usize,
    threads: usize,
}

/// A table that is filled, by its name.
type Filled<V> = (&'static str, bool, Box<dyn Running<V>>);

impl Bench {
    fn paper<const BUCKETS: usize>(&self, keys: usize) -> anyhow::Result<f64> {
        let entries = BUCKETS * keys;
        let mut all = contenders::<[u64; 8]>();
        all.insert(0, paper_table::<[u64; 8], BUCKETS>());
        let filled = fill(&all, entries);
        let mut random = Rng::with_seed(entries as u64);
        let streams: Vec<_> = (0..self.threads)
            .map(|_| {
                let drawn = numbers(2 * entries, Skew::Uniform, self.steps, &mut random);
                stream(&drawn, PAPER, &mut random)
            })
            .collect();
        let title = format!("{BUCKETS} buckets, {keys} keys in each, 64 bytes, {}", PAPER.name);
        self.compare(&title, &filled, &streams)
    }

    fn standard(&self, entries: usize) -> anyhow::Result<Vec<f64>> {
        let filled = fill(&contenders::<u64>(), entries);
        let mut ratios = Vec::new();
        for (skew, name) in [(Skew::Uniform, "uniform"), (Skew::Zipf, "Zipf 0.99")] {
            let mut random = Rng::with_seed(entries as u64);
            let draw = |_| numbers(2 * entries, skew, self.steps, &mut random);
            let drawn: Vec<_> = (0..self.threads).map(draw).collect();
            for mix in MIXES {
                let mut random = Rng::with_seed(1);
                let streams: Vec<_> =
                    drawn.iter().map(|numbers| stream(numbers, mix, &mut random)).collect();
                let title = format!("{entries} entries, {name}, {}", mix.name);
                ratios.push(self.compare(&title, &filled, &streams)?);
            }
        }
        Ok(ratios)
    }

    /// Each thread puts its share into an empty table.
    fn filling(&self, entries: usize) -> anyhow::Result<f64> {
        let all = contenders::<u64>();
        let share = entries / self.threads;
        let fill = |contender: &Contender<u64>| {
            let table = (contender.make)(0);
            let shares: Vec<_> = (0..self.threads as u64)
                .map(|thread| thread * share as u64..(thread + 1) * share as u64)
                .collect();
            timed(&*table, &shares, |table, share| table.fill(&mut share.clone().map(key)))
        };
        let sides = all
            .iter()
            .map(|contender| -> Once<f64> {
                Box::new(move || Ok(entries as f64 / fill(contender)))
            })
            .collect();
        let names: Vec<_> = all.iter().map(|contender| (contender.name, contender.ours)).collect();
        self.print(&format!("filling, {entries} entries"), &names, sides)
    }

    /// All tables on the same streams, in turn.
    fn compare<V: Value>(
        &self,
        title: &str,
        filled: &[Filled<V>],
        streams: &[Vec<Step>],
    ) -> anyhow::Result<f64> {
        let steps: usize = streams.iter().map(Vec::len).sum();
        let sides = filled
            .iter()
            .map(|(_, _, table)| -> Once<f64> {
                Box::new(move || {
                    let seconds = timed(&**table, streams, |table, steps| table.run(steps));
                    Ok(steps as f64 / seconds)
                })
            })
            .collect();
        let names: Vec<_> = filled.iter().map(|(name, ours, _)| (*name, *ours)).collect();
        self.print(title, &names, sides)
    }

    /// Runs the rounds, prints them, and returns our best table's ratio to the best peer.
    fn print(
        &self,
        title: &str,
        names: &[(&str, bool)],
        mut sides: Vec<Once<f64>>,
    ) -> anyhow::Result<f64> {
        let results = rounds::run(&mut sides, self.rounds, &ProgressBar::hidden(), 1)?;
        let spreads: Vec<_> = results.iter().map(|speeds| Spread::of(speeds)).collect();
        println!("\n{title}");
        for ((name, _), spread) in names.iter().zip(&spreads) {
            let [median, low, high] = [spread.median, spread.low, spread.high].map(|s| s / 1e6);
            println!("  {name:<22}{median:>9.1}   {low:.1} .. {high:.1}");
        }
        let best = |ours: bool| {
            let side = (0..names.len())
                .filter(|&at| names[at].1 == ours)
                .max_by(|&a, &b| spreads[a].median.total_cmp(&spreads[b].median));
            &results[side.expect("there are both")]
        };
        let ratios: Vec<f64> = best(true).iter().zip(best(false)).map(|(a, b)| a / b).collect();
        let ratio = Spread::of(&ratios);
        println!("  {:<22}{:>9.2}   {:.2} .. {:.2}", "ratio", ratio.median, ratio.low, ratio.high);
        Ok(ratio.median)
    }
}

/// Every second key of twice as many, so that a mix that puts as often as it removes keeps the
/// size.
fn fill<V: Value>(all: &[Contender<V>], entries: usize) -> Vec<Filled<V>> {
    let fill = |contender: &Contender<V>| {
        let table = (contender.make)(entries);
        table.fill(&mut (0..entries as u64).map(|number| key(2 * number)));
        (contender.name, contender.ours, table)
    };
    all.iter().map(fill).collect()
}

/// The seconds from when the first thread begins until the last is through with its part. They
/// look at the clock themselves, since on a busy machine somebody else would look too late.
fn timed<V, P: Sync>(
    table: &dyn Running<V>,
    parts: &[P],
    work: impl Fn(&dyn Running<V>, &P) + Sync,
) -> f64 {
    let barrier = Barrier::new(parts.len());
    let run = |part| {
        barrier.wait();
        let began = Instant::now();
        work(table, part);
        (began, Instant::now())
    };
    let times: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || run(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a table panics")).collect()
    });
    let began = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    began.zip(ended).map_or(0.0, |(began, ended)| (ended - began).as_secs_f64())
}

/// Bytes for an entry of 16, from empty tables.
fn memory(entries: usize) {
    println!("\nbytes for an entry of two 64-bit numbers, {entries} entries put in one by one");
    for contender in contenders::<u64>() {
        let before = heap::in_use();
        let table = (contender.make)(0);
        table.fill(&mut (0..entries as u64).map(key));
        let bytes = heap::in_use().wrapping_sub(before) as f64 / entries as f64;
        println!("  {:<22}{bytes:>9.1}", contender.name);
    }
}
