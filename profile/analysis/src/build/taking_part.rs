//! How much of the other threads' work the first thread does.
//!
//! A program often divides its work among the threads that it creates and the one it began with,
//! which then calls the function that the others run. From samples of all threads' stacks: a
//! function that a thread is in nearly all the time, and that the first thread is in as well.

use std::collections::{HashMap, HashSet};

use syncline_recording::{ProcessFile, SampledProcess, SampledThread};

use super::spins::{thread_of, whole};
use super::stacks::Stacks;
use super::tally::Clock;
use crate::model::TakingPart;
use syncline_code::symbols::Symbols;

/// The least share of a thread's samples that are in the function that it runs.
const NEARLY_ALL: f64 = 0.9;
/// The fewest places at which a thread must have been seen.
const FEWEST: usize = 4;
/// The least share of a thread's time in functions in which the first thread spends as much of the
/// time that it takes part. An interpreter, or an event loop, runs other work in each thread.
const ALIKE: f64 = 0.25;

/// The time, by function (its start): all of it, and that in the functions themselves, without what
/// they call.
#[derive(Default)]
struct Profile {
    all: f64,
    within: HashMap<u64, f64>,
    own: HashMap<u64, f64>,
}

impl Profile {
    /// The profile of these samples of a thread, in nanoseconds. With `only`, of those in that
    /// function.
    fn new(
        process: &SampledProcess,
        thread: &SampledThread,
        symbols: &mut Symbols,
        only: Option<u64>,
    ) -> Profile {
        let mut profile = Profile::default();
        for &(frame, nanoseconds) in &thread.seen {
            let stack = process.stack(frame);
            // All but the innermost are return addresses, which lie behind the calls.
            let instructions = stack.iter().enumerate();
            let starts = instructions.map(|(depth, address)| {
                symbols.start_of(address.saturating_sub(depth.min(1) as u64))
            });
            let starts: Vec<u64> = starts.flatten().collect();
            let Some(&own) = starts.first() else { continue };
            if only.is_some_and(|only| !starts.contains(&only)) {
                continue;
            }
            profile.all += nanoseconds as f64;
            *profile.own.entry(own).or_default() += nanoseconds as f64;
            for start in starts.into_iter().collect::<HashSet<_>>() {
                *profile.within.entry(start).or_default() += nanoseconds as f64;
            }
        }
        profile
    }

    /// The share of the time for which two profiles are alike.
    fn alike(&self, other: &Profile) -> f64 {
        let share = |profile: &Profile, start| {
            profile.own.get(start).copied().unwrap_or(0.0) / profile.all.max(1.0)
        };
        self.own.keys().map(|start| share(self, start).min(share(other, start))).sum()
    }
}

/// For each thread of the file, the function it runs in which the first thread takes part.
pub fn find(
    file: &ProcessFile,
    samples: Option<&SampledProcess>,
    clock: &Clock,
    stacks: &mut Stacks,
) -> Vec<Option<TakingPart>> {
    let mut found = vec![None; file.threads.len()];
    let Some(process) = samples else { return found };
    let is_first = |sampled: &&SampledThread| thread_of(file, sampled) == Some(0);
    let Some(first) = process.threads.iter().find(is_first) else { return found };
    let whole = whole(first, &file.threads[0].record, clock);
    let symbols = stacks.symbols();
    let first_all = Profile::new(process, first, symbols, None);
    for sampled in &process.threads {
        let Some(number) = thread_of(file, sampled).filter(|&number| number != 0) else { continue };
        if sampled.seen.len() < FEWEST {
            continue;
        }
        let thread = Profile::new(process, sampled, symbols, None);
        let runs = thread.within.iter().filter(|&(_, &time)| time >= NEARLY_ALL * thread.all);
        let both = runs.filter_map(|(start, _)| Some((*start, *first_all.within.get(start)?)));
        let Some((function, time)) = both.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        else {
            continue;
        };
        let part = Profile::new(process, first, symbols, Some(function));
        let thread = Profile::new(process, sampled, symbols, Some(function));
        if thread.alike(&part) >= ALIKE {
            found[number] = Some(TakingPart {
                function: symbols.function(function),
                seconds: time / 1e9 * whole,
            });
        }
    }
    found
}
