//! A profile of a thread: how much of its processor time it spends in which functions.

use std::collections::{HashMap, HashSet};

use syncline_code::model::Doing;
use syncline_code::symbols::Symbols;
use syncline_recording::{SampledProcess, SampledThread};

/// Samples that stand for less processor time than this, in nanoseconds, don't show where a thread
/// spends its time.
const FLOOR: f64 = 50e6;
/// A function with at least this share of a thread's time has most of it.
const MOST: f64 = 0.5;

/// The functions (their starts) on a stack, innermost first, and the time in nanoseconds that the
/// samples with this stack stand for.
pub type Seen = (Vec<u64>, f64);

/// Where a thread was seen, according to its samples at frames of the process. Stacks without a
/// known function and loops that only wait are left out.
pub fn seen(process: &SampledProcess, samples: &[(u32, u64)], symbols: &mut Symbols) -> Vec<Seen> {
    let functions = |&(frame, nanoseconds): &(u32, u64), symbols: &mut Symbols| {
        // All but the innermost are return addresses, which are after the calls.
        let instructions = process.stack(frame).into_iter().enumerate();
        let starts = instructions
            .map(|(depth, address)| symbols.start_of(address.saturating_sub(depth.min(1) as u64)));
        (starts.flatten().collect::<Vec<u64>>(), nanoseconds as f64)
    };
    let leaf = |frame: u32| process.stack(frame).first().copied().unwrap_or(0);
    let leaves: Vec<u64> = samples.iter().map(|&(frame, _)| leaf(frame)).collect();
    let doing = symbols.doing(&leaves);
    let works = samples.iter().zip(doing).filter(|(_, doing)| *doing != Doing::Waits);
    let all: Vec<Seen> = works.map(|(seen, _)| functions(seen, symbols)).collect();
    all.into_iter().filter(|(starts, _)| !starts.is_empty()).collect()
}

/// The time by function. `within` has the time in a function and in what it calls, `own` only that
/// in the function itself.
#[derive(Default)]
pub struct Profile {
    pub all: f64,
    pub within: HashMap<u64, f64>,
    own: HashMap<u64, f64>,
}

impl Profile {
    pub fn new<'a>(seen: impl Iterator<Item = &'a Seen>) -> Profile {
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
    pub fn inside(seen: &[Seen], function: u64) -> Profile {
        Profile::new(seen.iter().filter(|(starts, _)| starts.contains(&function)))
    }

    /// The share of the time for which two profiles are alike.
    pub fn alike(&self, other: &Profile) -> f64 {
        let share = |profile: &Profile, start| {
            profile.own.get(start).copied().unwrap_or(0.0) / profile.all.max(1.0)
        };
        self.own.keys().map(|start| share(self, start).min(share(other, start))).sum()
    }
}

/// The function in which a thread spends most of its processor time, with what that function calls;
/// of several such functions, the innermost. `None` if there are too few samples.
pub fn mostly(
    process: &SampledProcess,
    thread: &SampledThread,
    symbols: &mut Symbols,
) -> Option<String> {
    let mut seen_at = seen(process, &thread.seen, symbols);
    seen_at.extend(seen(process, &thread.in_kernel, symbols));
    innermost_of_most(&seen_at).map(|function| symbols.function(function))
}

/// The start of the function that [`mostly`] names.
pub fn innermost_of_most(seen: &[Seen]) -> Option<u64> {
    let profile = Profile::new(seen.iter());
    let most = |start: &u64| profile.within[start] >= MOST * profile.all;
    let fits = |start: &&u64| most(start);
    if profile.all < FLOOR {
        return None;
    }
    // Functions that each have more than half of the time call each other, and the innermost of
    // them has the least time.
    let least = profile.within.iter().filter(|(start, _)| most(start));
    let least = least.map(|(_, &time)| time).fold(f64::INFINITY, f64::min);
    let stacks = seen.iter().map(|(starts, _)| starts);
    let innermost = stacks.filter_map(|starts| starts.iter().find(fits));
    innermost.copied().find(|start| profile.within[start] <= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: u64 = 1;
    const WRITE: u64 = 2;
    const DEFLATE: u64 = 3;
    const MATCH: u64 = 4;

    fn most(stacks: &[(&[u64], u64)]) -> Option<u64> {
        let seen: Vec<Seen> =
            stacks.iter().map(|&(starts, ms)| (starts.to_vec(), ms as f64 * 1e6)).collect();
        innermost_of_most(&seen)
    }

    #[test]
    fn the_innermost_function_with_most_of_the_time_is_named() {
        let stacks = |in_match| {
            most(&[
                (&[MAIN], 20),
                (&[MATCH, DEFLATE, WRITE, MAIN], in_match),
                (&[DEFLATE, WRITE, MAIN], 80 - in_match),
            ])
        };
        assert_eq!(stacks(50), Some(MATCH));
        assert_eq!(stacks(49), Some(DEFLATE), "and not `WRITE`, which has as much of the time");
        assert_eq!(most(&[(&[MATCH, MAIN], 50), (&[WRITE, MAIN], 50)]), Some(MATCH));
        assert_eq!(
            most(&[(&[MATCH, MAIN], 40), (&[WRITE, MAIN], 30), (&[3, MAIN], 30)]),
            Some(MAIN)
        );
    }

    #[test]
    fn a_recursive_function_counts_once() {
        assert_eq!(most(&[(&[MATCH, MATCH, MAIN], 60), (&[WRITE, MAIN], 40)]), Some(MATCH));
        let recursive: &[u64] = &[MATCH, WRITE, MATCH, MAIN];
        assert_eq!(most(&[(recursive, 40), (&[MAIN], 60)]), Some(MAIN));
    }

    #[test]
    fn few_samples_show_nothing() {
        assert_eq!(most(&[(&[MATCH, MAIN], 49)]), None);
        assert_eq!(most(&[]), None);
    }
}
