//! How much of the other threads' work the first thread does.
//!
//! A program often divides its work among the threads that it creates and the one it began with,
//! which then calls the function that the others run. Samples of all threads' stacks show that
//! function: another thread is in it nearly all the time, and the first thread is in it as well.

use std::collections::HashMap;

use syncline_recording::{ProcessFile, SampledProcess, SampledThread};

use super::clock::Clock;
use super::profile::{Profile, Seen, innermost_of_most, seen};
use super::seen::whole;
use super::stacks::Stacks;
use crate::model::TakingPart;

/// The least share of a thread's sampled time that is in the function that it runs.
const NEARLY_ALL: f64 = 0.9;
/// The least number of different stacks with which a thread must have been sampled.
const FEWEST: usize = 4;
/// In the shared function, the profiles of a thread and of the first thread must be alike for at
/// least this share of their time. An interpreter, or an event loop, runs other work in each
/// thread.
const ALIKE: f64 = 0.25;

/// The function in which a thread is nearly all the time and in which the first thread does the
/// same work, with the first thread's nanoseconds in the function. `None` if there is no such
/// function.
fn shared(first: &[Seen], other: &[Seen]) -> Option<(u64, f64)> {
    let first_all = Profile::new(first.iter());
    let thread = Profile::new(other.iter());
    let runs = thread.within.iter().filter(|&(_, &time)| time >= NEARLY_ALL * thread.all);
    let both = runs.filter_map(|(start, _)| Some((*start, *first_all.within.get(start)?)));
    let (function, time) = both.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let alike = Profile::inside(other, function).alike(&Profile::inside(first, function));
    (alike >= ALIKE).then_some((function, time))
}

/// For each thread of the file, the function that it runs and in which the first thread takes part.
pub fn find(
    file: &ProcessFile,
    samples: Option<&SampledProcess>,
    clock: &Clock,
    stacks: &mut Stacks,
) -> Vec<Option<TakingPart>> {
    let mut found = vec![None; file.threads.len()];
    let Some(process) = samples else { return found };
    let is_first = |sampled: &&SampledThread| file.place_of(sampled.tid) == Some(0);
    let Some(first) = process.threads.iter().find(is_first) else { return found };
    let whole = whole(first, &file.threads[0].record, clock);
    let symbols = stacks.symbols();
    let first = seen(process, &first.seen, symbols);
    // The threads of a pool share one function.
    let mut otherwise: HashMap<u64, Option<String>> = HashMap::new();
    for sampled in &process.threads {
        let Some(number) = file.place_of(sampled.tid).filter(|&number| number != 0) else {
            continue;
        };
        if sampled.seen.len() < FEWEST {
            continue;
        }
        if let Some((function, time)) = shared(&first, &seen(process, &sampled.seen, symbols)) {
            let mostly = || {
                let outside = first.iter().filter(|(starts, _)| !starts.contains(&function));
                let most = innermost_of_most(&outside.cloned().collect::<Vec<_>>());
                most.map(|start| symbols.function(start))
            };
            let otherwise = otherwise.entry(function).or_insert_with(mostly).clone();
            found[number] = Some(TakingPart {
                function: symbols.function(function),
                seconds: time / 1e9 * whole,
                otherwise,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x100;
    const MAIN: u64 = 0x200;
    const WORK: u64 = 0x300;
    const FILTER: u64 = 0x400;
    const SEARCH: u64 = 0x500;
    const JOIN: u64 = 0x600;
    const PARSE: u64 = 0x700;

    /// Stacks, innermost function first, each with the milliseconds spent there.
    fn seen(stacks: &[(&[u64], u64)]) -> Vec<Seen> {
        stacks.iter().map(|&(starts, ms)| (starts.to_vec(), ms as f64 * 1e6)).collect()
    }

    /// A thread that runs `WORK`, half in one function and half in another.
    fn worker() -> Vec<Seen> {
        seen(&[(&[FILTER, WORK, START], 500), (&[SEARCH, WORK, START], 500)])
    }

    #[test]
    fn a_first_thread_that_calls_what_the_others_run_takes_part() {
        let first = seen(&[
            (&[PARSE, MAIN], 300),
            (&[FILTER, WORK, MAIN], 350),
            (&[SEARCH, WORK, MAIN], 250),
            (&[JOIN, MAIN], 100),
        ]);
        assert_eq!(shared(&first, &worker()), Some((WORK, 600e6)), "without what it parsed alone");
    }

    #[test]
    fn the_function_in_which_the_first_thread_spends_most_is_named() {
        let other = seen(&[(&[FILTER, FILTER, SEARCH, WORK, START], 1_000)]);
        let first = seen(&[(&[FILTER, SEARCH, WORK, MAIN], 200), (&[FILTER, PARSE, MAIN], 300)]);
        assert_eq!(shared(&first, &other), Some((FILTER, 500e6)));
        let of_work = seen(&[(&[FILTER, SEARCH, WORK, MAIN], 200)]);
        assert_eq!(shared(&of_work, &other), Some((WORK, 200e6)), "of several, the lowest address");
    }

    #[test]
    fn a_first_thread_that_only_waits_takes_no_part() {
        assert_eq!(shared(&seen(&[(&[JOIN, MAIN], 10)]), &worker()), None);
        assert_eq!(shared(&[], &worker()), None, "it was never seen on a processor");
    }

    #[test]
    fn other_work_below_a_common_function_does_not_take_part() {
        // Both in `main`, as in a program whose threads call it again, or in an event loop.
        let other = seen(&[(&[FILTER, MAIN, START], 500), (&[SEARCH, MAIN, START], 500)]);
        let first = seen(&[(&[PARSE, MAIN], 900), (&[JOIN, MAIN], 100)]);
        assert_eq!(shared(&first, &other), None);
        let barely = seen(&[(&[PARSE, MAIN], 760), (&[FILTER, MAIN], 240)]);
        assert_eq!(shared(&barely, &other), None, "alike for 24 % of the time");
        let partly = seen(&[(&[PARSE, MAIN], 740), (&[FILTER, MAIN], 260)]);
        assert_eq!(shared(&partly, &other), Some((MAIN, 1_000e6)), "for 26 %");
    }

    #[test]
    fn a_function_with_part_of_a_threads_time_is_not_shared() {
        // The first thread filters as well, but the other thread does more than that.
        let first = seen(&[(&[FILTER, MAIN], 1_000)]);
        assert_eq!(shared(&first, &worker()), None);
        let nearly = seen(&[(&[FILTER, START], 900), (&[SEARCH, START], 100)]);
        assert_eq!(shared(&first, &nearly), Some((FILTER, 1_000e6)), "90 %");
    }
}
