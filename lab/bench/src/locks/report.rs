//! Prints the results as tables, at most 100 columns wide.

use super::load::{For, Load, Threads};
use super::memory::Footprint;
use super::uncontended::Access;
use super::versus::{self, Result, Standing};
use super::{ours, peers};

/// Prints the results of the locks under one load, the fastest lock first, compared with the best
/// reference lock.
pub fn contended(load: &Load, results: &[Result]) {
    let references = peers::references(load.for_whom == For::Shared);
    let reference = versus::best_of(results, references);
    println!("\n{}", load.title);
    let beside = reference.map_or("", |peer| &*peer.contender.name);
    println!("  ratio: throughput over that of {beside}");
    println!(
        "  {:<22}{:>8}{:>7}{:>14}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}",
        "", "M/s", "ratio", "95 % interval", "p50", "p99", "p99.9", "max", "Jain", "min/max"
    );
    let mut order: Vec<_> = results.iter().collect();
    order.sort_by(|a, b| b.per_second().total_cmp(&a.per_second()));
    for result in order {
        let (ratio, interval) = match reference {
            Some(peer) => {
                let spread = versus::ratio(result, peer);
                let interval = format!("{}..{}", ratio(spread.low), ratio(spread.high));
                (ratio(spread.median), interval)
            }
            None => (String::new(), String::new()),
        };
        let waits = Waits::of(result);
        println!(
            "  {:<22}{:>8.3}{ratio:>7}{interval:>14}{:>7}{:>7}{:>7}{:>7}{:>8.3}{:>8.3}",
            result.contender.name,
            result.per_second() / 1e6,
            duration(waits.p50),
            duration(waits.p99),
            duration(waits.p99_9),
            duration(waits.max),
            result.median(|outcome| outcome.jain),
            result.median(|outcome| outcome.least_share),
        );
    }
}

/// Prints the mean ratios of the recommended locks over sections of all lengths.
pub fn over_lengths(threads: Threads, loads: &[&[Result]]) {
    println!("\n{threads}, one lock, sections of all lengths");
    println!("  throughput over that of the better of parking_lot's and pthread's mutex");
    println!("  {:<22}{:>14}{:>17}", "", "geometric mean", "95 % interval");
    for name in ours::RECOMMENDED {
        let spread = versus::over_loads(loads, name);
        let interval = format!("{:.3} .. {:.3}", spread.low, spread.high);
        println!("  {name:<22}{:>14.3}{interval:>17}", spread.median);
    }
}

/// Percentiles of the durations of acquisitions, in nanoseconds.
struct Waits {
    p50: u64,
    p99: u64,
    p99_9: u64,
    max: u64,
}

impl Waits {
    /// Summarizes the samples of all rounds.
    fn of(result: &Result) -> Waits {
        let mut all: Vec<u64> = result.outcomes.iter().flat_map(|o| &o.waits).copied().collect();
        all.sort_unstable();
        let at = |share: f64| match all.len() {
            0 => 0,
            count => all[((count as f64 * share) as usize).min(count - 1)],
        };
        Waits { p50: at(0.5), p99: at(0.99), p99_9: at(0.999), max: at(1.0) }
    }
}

/// Formats a duration with a unit, in at most six characters.
fn duration(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000 => format!("{nanoseconds}ns"),
        1_000..10_000 => format!("{:.1}us", nanoseconds as f64 / 1e3),
        10_000..1_000_000 => format!("{}us", nanoseconds / 1_000),
        1_000_000..10_000_000 => format!("{:.1}ms", nanoseconds as f64 / 1e6),
        10_000_000..10_000_000_000 => format!("{}ms", nanoseconds / 1_000_000),
        _ => format!("{}s", nanoseconds / 1_000_000_000),
    }
}

/// Formats a ratio in at most six characters: with four decimal places below 0.01, with two below
/// 10, and otherwise with none.
fn ratio(value: f64) -> String {
    match value {
        0.0..0.01 => format!("{value:.4}"),
        0.01..10.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// Prints the memory of the locks.
pub fn memory(footprints: &[Footprint]) {
    println!("\nMemory, in bytes");
    println!("  {:<22}{:>8}{:>8}{:>12}{:>12}", "", "lock", "node", "per lock", "per waiter");
    for footprint in footprints {
        println!(
            "  {:<22}{:>8}{:>8}{:>12}{:>12}",
            footprint.name,
            footprint.lock,
            footprint.node,
            footprint.heap_per_lock,
            footprint.heap_per_thread,
        );
    }
}

/// Prints the locks that miss the aim without contention.
pub fn print_missing_the_aim(standings: &[Standing]) {
    let mut behind = versus::missing_the_aim(standings).peekable();
    if behind.peek().is_some() {
        println!("\nUncontended, slower than the fastest peer by more than 3 %");
    }
    for Standing { form, access, ratio } in behind {
        let role = if *access == Access::Shared { ", as a reader" } else { "" };
        println!("  {:<40}{ratio:.3}", format!("{form}{role}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_fit_their_columns() {
        for nanoseconds in [0, 999, 1_000, 9_999, 10_000, 999_999, 9_999_999, 9_999_999_999] {
            assert!(duration(nanoseconds).len() <= 6, "{}", duration(nanoseconds));
        }
        assert_eq!(duration(1_500_000), "1.5ms");
        for value in [0.001, 0.05, 1.0, 9.99, 123.4, 9999.0] {
            assert!(ratio(value).len() <= 6, "{}", ratio(value));
        }
    }
}
