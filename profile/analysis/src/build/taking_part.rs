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

/// The functions (their starts) on a stack, innermost first, and the time in nanoseconds that the
/// samples with this stack stand for.
type Seen = (Vec<u64>, f64);

/// Where a thread was seen. Stacks without a known function are left out.
fn seen(process: &SampledProcess, thread: &SampledThread, symbols: &mut Symbols) -> Vec<Seen> {
    let mut functions = |&(frame, nanoseconds): &(u32, u64)| {
        // All but the innermost are return addresses, which lie behind the calls.
        let instructions = process.stack(frame).into_iter().enumerate();
        let starts = instructions
            .map(|(depth, address)| symbols.start_of(address.saturating_sub(depth.min(1) as u64)));
        (starts.flatten().collect::<Vec<u64>>(), nanoseconds as f64)
    };
    let all = thread.seen.iter().map(&mut functions);
    all.filter(|(starts, _)| !starts.is_empty()).collect()
}

/// The time, by function: all of it, and that in the functions themselves, without what they call.
#[derive(Default)]
struct Profile {
    all: f64,
    within: HashMap<u64, f64>,
    own: HashMap<u64, f64>,
}

impl Profile {
    fn new<'a>(seen: impl Iterator<Item = &'a Seen>) -> Profile {
        let mut profile = Profile::default();
        for (starts, time) in seen {
            profile.all += time;
            *profile.own.entry(starts[0]).or_default() += time;
            for &start in starts.iter().collect::<HashSet<_>>() {
                *profile.within.entry(start).or_default() += time;
            }
        }
        profile
    }

    /// The profile of what was seen in a function.
    fn inside(seen: &[Seen], function: u64) -> Profile {
        Profile::new(seen.iter().filter(|(starts, _)| starts.contains(&function)))
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
    let first = seen(process, first, symbols);
    let first_all = Profile::new(first.iter());
    for sampled in &process.threads {
        let Some(number) = thread_of(file, sampled).filter(|&number| number != 0) else { continue };
        if sampled.seen.len() < FEWEST {
            continue;
        }
        let seen = seen(process, sampled, symbols);
        let thread = Profile::new(seen.iter());
        let runs = thread.within.iter().filter(|&(_, &time)| time >= NEARLY_ALL * thread.all);
        let both = runs.filter_map(|(start, _)| Some((*start, *first_all.within.get(start)?)));
        let Some((function, time)) = both.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        else {
            continue;
        };
        let part = Profile::inside(&first, function);
        if Profile::inside(&seen, function).alike(&part) >= ALIKE {
            found[number] = Some(TakingPart {
                function: symbols.function(function),
                seconds: time / 1e9 * whole,
            });
        }
    }
    found
}
