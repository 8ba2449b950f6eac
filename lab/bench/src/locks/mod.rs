//! Compares every lock of the catalogue, in all its forms, with the locks of other libraries.
//!
//! - [`uncontended`]: a pair of calls without contention, compared with the fastest peer, usually
//!   one of the same [kind](contender::Kind), and with the same lock
//!   [written by hand](handwritten).
//! - [`contended`]: throughput, durations of acquisitions, and fairness, under the [`load`]s.
//! - [`memory`]: the memory of each lock.
//!
//! All locks run in loops that are equal line by line: those of Rust locks are in [`arena`], and
//! those of C locks are written in C ([`ck`]).

mod arena;
mod ck;
mod contended;
mod contender;
mod handwritten;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
pub mod instructions;
mod load;
mod memory;
mod ours;
mod peers;
pub mod processors;
mod report;
mod uncontended;
mod versus;
mod work;

use indicatif::ProgressBar;
use serde::Serialize;
use syncline::lock::Waiting;

use crate::lab::Lab;
use crate::rounds::{self, Once};
use crate::size::Size;
use crate::table;
use contender::Contender;
use load::{Load, Threads};
use memory::Footprint;

/// The last line of output. Each ratio is the throughput of one of our locks over that of a peer: 1
/// means equal, more is better.
#[derive(Serialize)]
struct Summary {
    /// The ratio without contention, over the fastest peer. A lock counts with its best form of
    /// each kind, as a writer and as a reader, and the worst of these ratios is shown. Delegation
    /// locks and reader-writer locks with queues do not count, since no peer does the same as they
    /// do.
    uncontended_worst_ratio: f64,
    /// The ratio with two threads and one lock: the best recommended lock over the better of
    /// pthread's and parking_lot's mutex. It is a geometric mean over sections of several lengths.
    contended_best_ratio: f64,
    /// Like `contended_best_ratio`, with 8 and with 32 threads for each processor. The worse of the
    /// two ratios is shown.
    oversubscribed_best_ratio: f64,
    /// The ratio with 8 threads for each processor: the worst lock of the catalogue whose waiters
    /// park, over pthread's mutex.
    oversubscribed_worst_ratio: f64,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  Ratios are throughput of ours over that of the best peer, both measured in turn in the
  same run: 1 is equal, more is better. Each is the median over the rounds.

  uncontended_worst_ratio     one thread: the fastest peer's time for a pair over ours, the
                              worst over the locks of the catalogue, as writer and as
                              reader. If a lock has several forms of one kind, the best
                              counts. Delegation locks and reader-writer locks with queues
                              don't count: no peer does the same as they do
  contended_best_ratio        two threads, one lock, sections of four lengths: the geometric
                              mean over these of the ratio to the better of parking_lot's and
                              pthread's mutex; the best of the recommended locks (gate)
  oversubscribed_best_ratio   like contended_best_ratio, with 8 and with 32 threads for each
                              processor: each recommended lock counts with the smaller of
                              its two ratios, and the best lock is shown
  oversubscribed_worst_ratio  8 threads for each processor: the worst of all locks of the
                              catalogue in their parking forms, as a writer, over pthread's
                              mutex
";

pub fn run(size: Size) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let by_hand = handwritten::contenders();
    let hand_pairs: Vec<_> = by_hand.iter().map(|(c, ours)| (c.name.clone(), *ours)).collect();
    let mut all = ours::contenders();
    all.extend(peers::contenders());
    all.extend(ck::contenders(&lab)?);
    let everybody: Vec<&Contender> = all.iter().chain(by_hand.iter().map(|(c, _)| c)).collect();
    let loads = load::all(size);

    let bar = rounds::bar(steps(&everybody, &loads, size))?;
    bar.set_message("uncontended");
    let scale = size.pick(0.001, 1.0, 1.0);
    let timings = uncontended::run(&everybody, scale, uncontended_rounds(size), &bar)?;
    let mut under_load = Vec::new();
    for load in &loads {
        bar.set_message(load.title.clone());
        under_load.push((load, under(load, &all, size, &bar)?));
    }
    bar.set_message("memory");
    let footprints: Vec<_> = all.iter().map(Footprint::of).collect();
    bar.finish_and_clear();

    println!("Our locks and those of other libraries, measured in turn; medians over the rounds");
    table::print("peer", "ours", &versus::uncontended(&timings));
    table::print("by hand", "ours", &versus::handwritten(&timings, &hand_pairs));
    for (load, results) in &under_load {
        report::contended(load, results);
    }
    for threads in [Threads::Two].into_iter().chain(load::OVERSUBSCRIBED) {
        report::over_lengths(threads, &judging(&under_load, threads));
    }
    report::memory(&footprints);
    report::print_missing_the_aim(&versus::standings(&timings));
    println!();
    let summary = summary(&timings, &under_load);
    Ok(serde_json::to_string(&summary)?)
}

/// Measures the contenders that take part in a load: in all rounds, or in a single slot if they
/// starve there.
fn under<'a>(
    load: &Load,
    all: &'a [Contender],
    size: Size,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<versus::Result<'a>>> {
    let slot = load.slot(size);
    let step = slot.as_millis() as u64;
    let once = |contender: &'a Contender| contended::run(&*contender.row, load, slot);

    let suited: Vec<_> = all.iter().filter(|c| load.suits(c, size)).collect();
    let mut sides: Vec<Once<_>> = Vec::new();
    for &contender in &suited {
        sides.push(Box::new(move || once(contender)));
    }
    let outcomes = rounds::run(&mut sides, load.rounds(size), bar, step)?;
    let result = |(contender, outcomes)| versus::Result { contender, outcomes };
    let mut results: Vec<_> = suited.into_iter().zip(outcomes).map(result).collect();
    for contender in all.iter().filter(|c| load.shows_once(c, size)) {
        results.push(versus::Result { contender, outcomes: vec![once(contender)?] });
        bar.inc(step);
    }
    Ok(results)
}

fn uncontended_rounds(size: Size) -> usize {
    size.pick(1, 61, 301)
}

/// The approximate number of milliseconds that all measurements take.
fn steps(everybody: &[&Contender], loads: &[Load], size: Size) -> u64 {
    let under = |load: &Load| {
        let count = |who: &dyn Fn(&Contender) -> bool| {
            everybody.iter().filter(|c| c.side != contender::Side::Handwritten && who(c)).count()
        };
        let runs = count(&|c| load.suits(c, size)) * (load.rounds(size) + 1)
            + count(&|c| load.shows_once(c, size));
        runs as u64 * load.slot(size).as_millis() as u64
    };
    let accesses = everybody.len() + everybody.iter().filter(|c| c.kind.is_shared()).count();
    (accesses * (uncontended_rounds(size) + 1)) as u64 + loads.iter().map(under).sum::<u64>()
}

/// The results of the loads by which recommended locks are judged with this many threads.
fn judging<'a>(
    under_load: &'a [(&Load, Vec<versus::Result>)],
    threads: Threads,
) -> Vec<&'a [versus::Result<'a>]> {
    under_load.iter().filter(|(load, _)| load.judges(threads)).map(|(_, of)| &**of).collect()
}

fn summary(
    timings: &[uncontended::Timing],
    under_load: &[(&Load, Vec<versus::Result>)],
) -> Summary {
    let over_lengths =
        |threads, name: &str| versus::over_loads(&judging(under_load, threads), name).median;
    let best = |of: &dyn Fn(&str) -> f64| {
        ours::RECOMMENDED.iter().map(|name| of(name)).fold(0.0, f64::max)
    };
    let oversubscribed = under_load.iter().find(|(load, _)| load.title == load::OVERSUBSCRIBED_8);
    let (_, oversubscribed) = oversubscribed.expect("every load was run");
    let pthread = versus::best_of(oversubscribed, &["pthread mutex"]).expect("it takes part");
    let parking = oversubscribed
        .iter()
        .filter(|r| r.contender.is_ours() && r.contender.waiting == Waiting::Parks);
    let worst = parking.map(|r| versus::ratio(r, pthread).median).fold(f64::INFINITY, f64::min);
    let standings = versus::standings(timings);
    let uncontended = standings.first().expect("our locks have peers").ratio;
    let rounded = |ratio: f64| (ratio * 1e4).round() / 1e4;
    Summary {
        uncontended_worst_ratio: rounded(uncontended),
        contended_best_ratio: rounded(best(&|name| over_lengths(Threads::Two, name))),
        oversubscribed_best_ratio: rounded(best(&|name| {
            let each = load::OVERSUBSCRIBED.into_iter().map(|threads| over_lengths(threads, name));
            each.fold(f64::INFINITY, f64::min)
        })),
        oversubscribed_worst_ratio: rounded(worst),
    }
}
