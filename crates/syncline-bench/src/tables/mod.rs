//! The library's hash tables beside others, on as many threads as there are processors.
//!
//! - The paper's mix (SSYNC, section 6.3): 512 and 12 buckets, 12 and 48 keys in each, 64 bytes;
//!   also with the paper's own tables, over locks and over messages.
//! - Standard mixes over several sizes and skews, 64-bit keys and values; and filling an empty
//!   table.
//! - Memory for an entry.
//!
//! All tables of a case run one after the other in each round, on the same streams of steps.

mod load;
mod peers;
mod served;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use indicatif::ProgressBar;
use serde::Serialize;

use self::load::{MIXES, PAPER, Skew, Step, Value, key, numbers, stream};
use self::peers::{Contender, Running, contenders, paper_table};
use self::served::served_table;
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
        "{} threads; million operations a second: median of {} rounds, with its 95 % interval.\n\
         The ratio is our best table's to the best peer's.",
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

/// What a run took, in seconds.
#[derive(Clone, Copy)]
struct Times {
    wall: f64,
    /// Of the thread that took most. On an idle machine it is the same, but for threads that
    /// sleep; on a busy one it leaves out what others took.
    processor: f64,
}

impl Times {
    /// Steps in a second.
    fn speeds(self, steps: usize) -> [f64; 2] {
        [self.wall, self.processor].map(|seconds| steps as f64 / seconds)
    }
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
        all.insert(1, served_table::<[u64; 8], BUCKETS>());
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
            .map(|contender| -> Once<[f64; 2]> {
                Box::new(move || Ok(fill(contender).speeds(entries)))
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
            .map(|(_, _, table)| -> Once<[f64; 2]> {
                Box::new(move || {
                    let run = |table: &dyn Running<V>, steps: &Vec<Step>| table.run(steps);
                    Ok(timed(&**table, streams, run).speeds(steps / table.share()))
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
        mut sides: Vec<Once<[f64; 2]>>,
    ) -> anyhow::Result<f64> {
        let results = rounds::run(&mut sides, self.rounds, &ProgressBar::hidden(), 1)?;
        println!("\n{title}");
        let [wall, _] = [("", 0), (", processor time", 1)].map(|(by, at)| {
            let speeds: Vec<Vec<f64>> = results
                .iter()
                .map(|rounds| rounds.iter().map(|speeds| speeds[at]).collect())
                .collect();
            if at == 0 {
                names.iter().zip(&speeds).for_each(|((name, _), speeds)| line(name, speeds, 1e6));
            }
            let [ours, peer] = [true, false].map(|ours| best(names, &speeds, ours));
            let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| ours / peer).collect();
            line(&format!("ratio{by}"), &ratios, 1.0);
            Spread::of(&ratios).median
        });
        Ok(wall)
    }
}

/// The speeds of the best table of ours, or of the others.
fn best<'s>(names: &[(&str, bool)], speeds: &'s [Vec<f64>], ours: bool) -> &'s [f64] {
    let median = |speeds: &&Vec<f64>| Spread::of(speeds).median;
    let of_side = names.iter().zip(speeds).filter(|((_, is_ours), _)| *is_ours == ours);
    let best = of_side.map(|(_, speeds)| speeds).max_by(|a, b| median(a).total_cmp(&median(b)));
    best.expect("there are tables of both")
}

fn line(name: &str, values: &[f64], unit: f64) {
    let Spread { median, low, high } = Spread::of(values);
    let [median, low, high] = [median, low, high].map(|value| value / unit);
    println!("  {name:<24}{median:>9.2}   {low:.2} .. {high:.2}");
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
) -> Times {
    let barrier = Barrier::new(parts.len());
    let run = |part| {
        barrier.wait();
        let (began, spent) = (Instant::now(), processor_seconds());
        work(table, part);
        (began, Instant::now(), processor_seconds() - spent)
    };
    let times: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || run(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a table panics")).collect()
    });
    let began = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    Times {
        wall: began.zip(ended).map_or(0.0, |(began, ended)| (ended - began).as_secs_f64()),
        processor: times.iter().map(|times| times.2).fold(0.0, f64::max),
    }
}

/// The seconds that this thread has had a processor.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is one that Linux has, and the result goes to a place of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
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
