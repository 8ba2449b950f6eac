//! Compares the library's hash tables with those of other libraries, with as many threads as there
//! are processors.
//!
//! - The paper's mix (SSYNC, section 6.3): 512 and 12 buckets, 12 and 48 keys in each, values of 64
//!   bytes. The paper's own tables, with locks and with messages, take part too.
//! - Standard mixes with several sizes and distributions, with 64-bit keys and values; and filling
//!   an empty table.
//! - Memory per entry.
//!
//! In each round, all tables of a case run one after another on the same streams of steps. A
//! table's position in memory affects the result as much as the table itself, and stays the same in
//! all rounds. So our best table and the best peer also run in [pairs], for which both tables are
//! created again from time to time. The ratio comes from these pairs.

mod line;
mod load;
mod memory;
mod pairs;
mod peers;
mod served;

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use indicatif::ProgressBar;
use serde::Serialize;

use self::line::line;
use self::load::{MIXES, PAPER, Skew, Step, Value, key, numbers, stream};
use self::peers::{Contender, Running, contenders, paper_table};
use self::served::served_table;
use crate::locks::processors;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::statistics::median;

/// The last line of output. Each ratio is the throughput of our best table over that of the best
/// peer.
#[derive(Serialize)]
struct Summary {
    paper_mix_ratio: f64,
    standard_worst_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  Ratios are throughput of our best table over that of the best peer, which run in turn: 1 is
  equal, more is better. Each is the median over the pairs of runs.

  paper_mix_ratio       the paper's mix of operations: the worst of its four configurations
  standard_worst_ratio  the worst of all other cases
";

/// The number of steps of each thread in a run. No clock is read within a run.
const STEPS: [usize; 3] = [2_000, 150_000, 1_000_000];

/// Runs all cases.
///
/// # Errors
/// None; all benchmarks return a result.
pub fn run(size: Size) -> anyhow::Result<String> {
    let bench = Bench {
        steps: size.pick(STEPS[0], STEPS[1], STEPS[2]),
        rounds: size.pick(1, 3, 9),
        pairs: size.pick(1, 15, 61),
        threads: thread::available_parallelism().map_or(2, |n| n.get()),
    };
    println!(
        "{} threads; million operations a second: median of {} rounds, with its 95 % interval.\n\
         The ratio is our best table's to the best peer's, in {} pairs of runs.",
        bench.threads, bench.rounds, bench.pairs
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
    memory::print(size.pick(1_000, 100_000, 1_000_000));
    println!();
    let worst = |ratios: &[f64]| ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let rounded = |ratio: f64| (ratio * 1e4).round() / 1e4;
    let summary = Summary {
        paper_mix_ratio: rounded(worst(&paper)),
        standard_worst_ratio: rounded(worst(&standard)),
    };
    Ok(serde_json::to_string(&summary)?)
}

/// The duration of a run, in seconds.
#[derive(Clone, Copy)]
struct Times {
    wall: f64,
    /// The processor time of the thread that used the most. On an idle machine it equals the wall
    /// time, unless threads sleep. On a busy machine it excludes the time in which other processes
    /// had the processor.
    processor: f64,
}

impl Times {
    /// Steps per second, by wall time and by processor time.
    fn speeds(self, steps: usize) -> [f64; 2] {
        [self.wall, self.processor].map(|seconds| steps as f64 / seconds)
    }
}

struct Bench {
    steps: usize,
    rounds: usize,
    pairs: usize,
    threads: usize,
}

/// A table with its entries, and a function that creates another one.
struct Filled<V> {
    contender: Contender<V>,
    entries: usize,
    table: Box<dyn Running<V>>,
}

impl<V: Value> Filled<V> {
    /// Fills a new table with every second key of a range twice as large, so that a mix with as
    /// many puts as removals keeps the size.
    fn new(contender: Contender<V>, entries: usize) -> Self {
        let table = (contender.make)(entries);
        table.fill(&mut (0..entries as u64).map(|number| key(2 * number)));
        Self { contender, entries, table }
    }
}

impl Bench {
    fn paper<const BUCKETS: usize>(&self, keys: usize) -> anyhow::Result<f64> {
        let entries = BUCKETS * keys;
        let mut all = contenders::<[u64; 8]>();
        all.insert(0, paper_table::<[u64; 8], BUCKETS>());
        all.insert(1, served_table::<[u64; 8], BUCKETS>());
        let filled = fill(all, entries);
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
        let filled = fill(contenders::<u64>(), entries);
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

    /// Measures how fast the threads fill an empty table, each with its share of the keys.
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
        let once = |contender: &Contender<u64>| fill(contender).speeds(entries);
        let sides = all
            .iter()
            .map(|contender| -> Once<[f64; 2]> { Box::new(move || Ok(once(contender))) })
            .collect();
        let names: Vec<_> = all.iter().map(|contender| (contender.name, contender.ours)).collect();
        let [ours, peer] = self.print(&format!("filling, {entries} entries"), &names, sides)?;
        let pairs = pairs::run(self.pairs, |side| once(&all[[ours, peer][side]]));
        Ok(pairs::print(&pairs))
    }

    /// Runs all tables on the same streams, in turn. Returns the ratio of our best table to the
    /// best peer.
    fn compare<V: Value>(
        &self,
        title: &str,
        filled: &[Filled<V>],
        streams: &[Vec<Step>],
    ) -> anyhow::Result<f64> {
        let steps: usize = streams.iter().map(Vec::len).sum();
        let run = |table: &dyn Running<V>, steps: &Vec<Step>| table.run(steps);
        let once =
            |table: &dyn Running<V>| timed(table, streams, run).speeds(steps / table.share());
        let sides = filled
            .iter()
            .map(|filled| -> Once<[f64; 2]> { Box::new(|| Ok(once(&*filled.table))) })
            .collect();
        let names: Vec<_> =
            filled.iter().map(|of| (of.contender.name, of.contender.ours)).collect();
        let best = self.print(title, &names, sides)?;
        let both = best.map(|at| &filled[at]);
        let mut again = both.map(|_| None);
        let pairs = pairs::run_anew(self.pairs, |side, anew| {
            let Filled { contender, entries, table } = both[side];
            if anew {
                // The previous table is freed first. Otherwise the new table would always be at the
                // next address.
                again[side] = None;
                again[side] = Some(Filled::new(*contender, *entries));
                // The first run is not counted: the table grows in it, and fetches the lines that
                // it needs.
                once(&*again[side].as_ref().expect("just made").table);
            }
            once(again[side].as_ref().map_or(&**table, |filled| &*filled.table))
        });
        Ok(pairs::print(&pairs))
    }

    /// Runs the rounds and prints their results. Returns the indices of our best table and of the
    /// best peer.
    fn print(
        &self,
        title: &str,
        names: &[(&str, bool)],
        mut sides: Vec<Once<[f64; 2]>>,
    ) -> anyhow::Result<[usize; 2]> {
        let results = rounds::run(&mut sides, self.rounds, &ProgressBar::hidden(), 1)?;
        println!("\n{title}");
        let speeds: Vec<Vec<f64>> =
            results.iter().map(|rounds| rounds.iter().map(|[wall, _]| *wall).collect()).collect();
        names.iter().zip(&speeds).for_each(|((name, _), speeds)| line(name, speeds, 1e6));
        Ok([true, false].map(|ours| best(names, &speeds, ours)))
    }
}

/// The index of the best of our tables or, if not `ours`, of the peers.
fn best(names: &[(&str, bool)], speeds: &[Vec<f64>], ours: bool) -> usize {
    let of_side = (0..names.len()).filter(|&at| names[at].1 == ours);
    let best = of_side.max_by(|&a, &b| median(&speeds[a]).total_cmp(&median(&speeds[b])));
    best.expect("there are tables of both")
}

fn fill<V: Value>(all: Vec<Contender<V>>, entries: usize) -> Vec<Filled<V>> {
    all.into_iter().map(|contender| Filled::new(contender, entries)).collect()
}

/// The time from the moment when the first thread begins until the last one ends. The threads read
/// the clock themselves, since on a busy machine another thread would read it too late.
fn timed<V, P: Sync>(
    table: &dyn Running<V>,
    parts: &[P],
    work: impl Fn(&dyn Running<V>, &P) + Sync,
) -> Times {
    let barrier = Barrier::new(parts.len());
    let run = |thread, part| {
        processors::keep_apart(thread);
        barrier.wait();
        let (began, spent) = (Instant::now(), processor_seconds());
        work(table, part);
        (began, Instant::now(), processor_seconds() - spent)
    };
    let times: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> =
            (0..).zip(parts).map(|(thread, part)| scope.spawn(move || run(thread, part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a table panics")).collect()
    });
    let began = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    Times {
        wall: began.zip(ended).map_or(0.0, |(began, ended)| (ended - began).as_secs_f64()),
        processor: times.iter().map(|times| times.2).fold(0.0, f64::max),
    }
}

/// The processor time of this thread in seconds.
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: Linux has this clock, and the result is written to a local variable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
