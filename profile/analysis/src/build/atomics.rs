//! Adds up the time that threads spent at atomic instructions, by function.

use std::collections::BTreeMap;

use super::clock::Clock;
use super::seen::Spent;
use super::stacks::Stacks;
use super::sum::Sum;
use crate::model::Atomics;

/// The functions with atomic instructions, those with most time first.
pub fn by_function(spent: &[Spent], stacks: &mut Stacks, clock: &Clock) -> Vec<Atomics> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for spent in spent {
        let Some(frame) = stacks.place(spent.stack) else { continue };
        let function = stacks.symbols().frame(frame).whole_function().to_owned();
        let seconds = clock.seconds(spent.ticks);
        sums.entry(function).or_default().add(spent.thread, spent.stack, seconds);
    }
    let atomics = |(function, sum): (String, Sum)| {
        let (stack, seconds) = (sum.stack()?, sum.seconds());
        let place = stacks.place_name(stack);
        Some(Atomics { function, place, seconds, threads: sum.threads().collect(), stack })
    };
    let mut all: Vec<Atomics> = sums.into_iter().filter_map(atomics).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.function.cmp(&b.function)));
    all
}
