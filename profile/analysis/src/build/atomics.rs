//! Adds up the time that threads spent at atomic instructions, by function.

use std::collections::BTreeMap;

use super::clock::Clock;
use super::seen::Spent;
use super::stacks::Stacks;
use crate::model::Atomics;

#[derive(Default)]
struct Sum {
    threads: BTreeMap<usize, u64>,
    stacks: BTreeMap<usize, u64>,
}

/// The functions with atomic instructions, those with most time first.
pub fn by_function(spent: &[Spent], stacks: &mut Stacks, clock: &Clock) -> Vec<Atomics> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for spent in spent {
        let Some(frame) = stacks.place(spent.stack) else { continue };
        let function = stacks.symbols().frame(frame).whole_function().to_owned();
        let sum = sums.entry(function).or_default();
        for ticks in [
            sum.threads.entry(spent.thread).or_default(),
            sum.stacks.entry(spent.stack).or_default(),
        ] {
            *ticks = ticks.saturating_add(spent.ticks);
        }
    }
    let atomics = |(function, sum): (String, Sum)| {
        let threads: Vec<(usize, f64)> =
            sum.threads.into_iter().map(|(thread, ticks)| (thread, clock.seconds(ticks))).collect();
        let (stack, _) = sum.stacks.into_iter().max_by_key(|&(_, ticks)| ticks)?;
        let seconds = threads.iter().map(|(_, seconds)| seconds).sum();
        Some(Atomics { function, place: stacks.place_name(stack), seconds, threads, stack })
    };
    let mut all: Vec<Atomics> = sums.into_iter().filter_map(atomics).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.function.cmp(&b.function)));
    all
}
