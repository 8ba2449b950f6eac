//! System calls, other than recorded waits, in which samples show that threads slept.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::{ProcessFile, SampledProcess};
use syscalls::x86_64::Sysno;

use super::stacks::Stacks;
use crate::model::Asleep;

#[derive(Default)]
struct Sum {
    seconds: f64,
    threads: BTreeSet<usize>,
    stacks: BTreeMap<usize, f64>,
}

/// All calls in which threads slept, those with most time first. Samples inside a recorded call are
/// left out, since they are counted as waits already.
pub fn find(
    file: &ProcessFile,
    process: Option<&SampledProcess>,
    stacks: &mut Stacks,
) -> Vec<Asleep> {
    let mut sums: BTreeMap<(u32, String), Sum> = BTreeMap::new();
    for sampled in process.iter().flat_map(|process| &process.threads) {
        let Some(thread) = file.place_of(sampled.tid) else { continue };
        for &(frame, call, _, nanoseconds) in &sampled.slept {
            let stack = process.map(|process| process.stack(frame)).unwrap_or_default();
            let Some(number) = stacks.add_seen(stack) else { continue };
            let sum = sums.entry((call, stacks.place_name(number))).or_default();
            let seconds = nanoseconds as f64 / 1e9;
            sum.seconds += seconds;
            sum.threads.insert(thread);
            *sum.stacks.entry(number).or_default() += seconds;
        }
    }
    let asleep = |((call, place), sum): ((u32, String), Sum)| {
        let most = sum.stacks.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let threads = sum.threads.into_iter().collect();
        Some(Asleep { call: name(call), place, seconds: sum.seconds, threads, stack: most.0 })
    };
    let mut all: Vec<Asleep> = sums.into_iter().filter_map(asleep).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.place.cmp(&b.place)));
    all
}

/// The name of a system call.
fn name(call: u32) -> String {
    match Sysno::new(call as usize) {
        Some(known) => known.name().to_owned(),
        None => format!("system call {call}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_names() {
        assert_eq!(name(202), "futex");
        assert_eq!(name(232), "epoll_wait");
        assert_eq!(name(99_999), "system call 99999");
    }
}
