//! The facts about the sections of one call site: how long they are, and how many of their
//! instructions touch shared data (SyncPerf, section 3.2 and Figure 5).
//!
//! When the program calls a function of a library for the first time, the dynamic loader executes
//! about 700 instructions. These instructions are left out.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use syncline_trace::layout::{IO, STOP_LIMIT, STOP_NONE};
use syncline_trace::{Section, Trace};

use crate::conflict::ratio;
use crate::sets::{Loader, Set, Sets};
use crate::system_calls::is_io;

/// How a number is distributed over sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub median: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The maximum.
    pub max: u64,
}

impl Distribution {
    /// The distribution of these values; all zeros if there are none.
    pub fn of(mut values: Vec<u64>) -> Distribution {
        values.sort_unstable();
        let Some(last) = values.len().checked_sub(1) else { return Distribution::default() };
        let at = |share: f64| values[(last as f64 * share).round() as usize];
        let sum: f64 = values.iter().map(|&v| v as f64).sum();
        Distribution {
            mean: sum / values.len() as f64,
            median: at(0.5),
            p90: at(0.9),
            max: values[last],
        }
    }
}

/// The facts about an instruction from all sections of a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFacts {
    /// The instruction's address.
    pub address: u64,
    /// How often the instruction was executed.
    pub times: u64,
    /// Whether the instruction may have accessed a word that several threads accessed.
    pub shared: bool,
}

/// The facts about the sections of one call site. They may be sections of several locks.
#[derive(Clone, Debug, Default)]
pub struct SiteFacts {
    /// The return address of the acquiring call.
    pub site: u64,
    /// The number of acquisitions, traced or not.
    pub acquisitions: u64,
    /// The number of traced sections, including those in which tracing stopped.
    pub traced: u64,
    /// The number of instructions of a section that was traced to its end.
    pub instructions: Distribution,
    /// The sum of the instructions of all sections.
    pub total_instructions: u64,
    /// The share of instructions that accessed memory, including stacks.
    pub memory_share: f64,
    /// How many of `total_instructions` accessed memory outside of the thread's stack.
    pub outside_instructions: u64,
    /// How many of `outside_instructions` may have accessed a word that several threads accessed.
    pub shared_instructions: u64,
    /// The mean number of distinct words outside of its thread's stack that a section accessed.
    /// This field and the next ones, down to `plainly_writing`, are over the sections that can be
    /// compared.
    pub words: f64,
    /// How many of those words the section read.
    pub words_read: f64,
    /// How many of those words the section wrote.
    pub words_written: f64,
    /// How many of those words several threads accessed.
    pub words_shared: f64,
    /// The mean number of bytes in those words that the section accessed.
    pub bytes: f64,
    /// The most words shared by several threads that any one section accessed.
    pub shared_max: u64,
    /// The number of sections that wrote outside of their thread's stack.
    pub writing: u64,
    /// How many of those wrote there with an instruction that is not atomic.
    pub plainly_writing: u64,
    /// The number of sections that allocated or freed memory.
    pub allocating: u64,
    /// The numbers of system calls, each with the number of sections that made the call.
    pub system_calls: BTreeMap<u32, u64>,
    /// The number of sections that made any system call.
    pub calling: u64,
    /// The number of sections that did input or output.
    pub doing_io: u64,
    /// The number of sections in which tracing stopped.
    pub stopped: u64,
    /// How many of those sections were too long to be traced to their end.
    pub cut: u64,
    /// The reasons why tracing stopped, by the codes in the trace, each with the number of
    /// sections.
    pub stops: BTreeMap<u32, u64>,
    /// The instructions of the sections, those that were executed most often first.
    pub steps: Vec<StepFacts>,
}

impl SiteFacts {
    /// The share of instructions that certainly touched no shared data; 1 if no instruction was
    /// traced.
    pub fn unshared_share(&self) -> f64 {
        1.0 - ratio(self.shared_instructions, self.total_instructions).min(1.0)
    }
}

/// The facts about each call site of the given sections, the sites with the most acquisitions
/// first. `set_of` has the address sets of the sections that can be compared, by the sections'
/// numbers; `acquisitions` has the number of acquisitions of each call site.
pub fn sites(
    trace: &Trace,
    sets: &Sets,
    sections: &[usize],
    set_of: &FxHashMap<usize, &Set>,
    acquisitions: &FxHashMap<u64, u64>,
    (shared, loader): (&SharedWords, &Loader),
) -> Vec<SiteFacts> {
    let mut by_site: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &section in sections {
        by_site.entry(trace.sections[section].record.site).or_default().push(section);
    }
    let mut facts: Vec<SiteFacts> = by_site
        .into_iter()
        .map(|(site, sections)| {
            let mut facts = site_facts(trace, sets, &sections, set_of, (shared, loader));
            facts.site = site;
            facts.acquisitions = acquisitions.get(&site).copied().unwrap_or(0).max(facts.traced);
            facts
        })
        .collect();
    facts.sort_by_key(|f| (std::cmp::Reverse(f.acquisitions), f.site));
    facts
}

/// The addresses of the words that several threads accessed, in increasing order.
pub struct SharedWords(Vec<u64>);

impl SharedWords {
    /// The words in these sets that several threads accessed.
    pub fn of(sets: &Sets) -> SharedWords {
        SharedWords(sets.words.shared())
    }

    /// Whether any byte with an address from `low` to `high` belongs to a shared word.
    fn any(&self, low: u64, high: u64) -> bool {
        let first = self.0.partition_point(|&address| address.saturating_add(7) < low);
        self.0.get(first).is_some_and(|&address| address <= high)
    }
}

fn site_facts(
    trace: &Trace,
    sets: &Sets,
    sections: &[usize],
    set_of: &FxHashMap<usize, &Set>,
    (shared, loader): (&SharedWords, &Loader),
) -> SiteFacts {
    let mut facts = SiteFacts { traced: sections.len() as u64, ..SiteFacts::default() };
    let mut steps: FxHashMap<u64, StepFacts> = FxHashMap::default();
    let mut lengths = Vec::new();
    let mut whole = 0_u64;
    let mut memory = MemoryShare::default();
    for &number in sections {
        let section = &trace.sections[number];
        let record = &section.record;
        if record.stopped != STOP_NONE {
            facts.stopped += 1;
            *facts.stops.entry(record.stopped).or_default() += 1;
        }
        facts.cut += u64::from(record.stopped == STOP_LIMIT);
        let bound = instructions_of(section, loader);
        let instructions = record.instructions.saturating_sub(bound);
        facts.total_instructions += instructions;
        memory.add(bound > 0, record.memory_instructions, record.instructions);
        facts.allocating += u64::from(record.allocations != 0 || record.frees != 0);
        for call in &section.system_calls {
            *facts.system_calls.entry(call.number).or_default() += 1;
        }
        facts.calling += u64::from(!section.system_calls.is_empty());
        let by_call = section.system_calls.iter().any(|c| is_io(c.number));
        facts.doing_io += u64::from(by_call || record.flags & IO != 0);
        add_steps(section, (shared, loader), &mut steps, &mut facts);
        if record.stopped == STOP_NONE {
            lengths.push(instructions);
        }
        let Some(set) = set_of.get(&number) else { continue };
        whole += 1;
        let (mut read, mut written, mut of_others, mut plainly) = (0, 0, 0_u64, 0);
        for access in &set.accesses {
            read += u64::from(access.read != 0);
            written += u64::from(access.written != 0);
            plainly += u64::from(access.written != 0 && !access.atomic);
            of_others += u64::from(sets.words.is_shared(access.word));
        }
        facts.words += set.accesses.len() as f64;
        facts.words_read += read as f64;
        facts.words_written += written as f64;
        facts.words_shared += of_others as f64;
        facts.bytes += set.bytes() as f64;
        facts.shared_max = facts.shared_max.max(of_others);
        facts.writing += u64::from(written > 0);
        facts.plainly_writing += u64::from(plainly > 0);
    }
    for sum in [
        &mut facts.words,
        &mut facts.words_read,
        &mut facts.words_written,
        &mut facts.words_shared,
        &mut facts.bytes,
    ] {
        *sum /= whole.max(1) as f64;
    }
    facts.memory_share = memory.share();
    facts.instructions = Distribution::of(lengths);
    facts.steps = steps.into_values().collect();
    facts.steps.sort_by_key(|step| (std::cmp::Reverse(step.times), step.address));
    facts
}

/// How many instructions of the loader a section executed.
fn instructions_of(section: &Section, loader: &Loader) -> u64 {
    let steps = section.steps.iter().filter(|step| loader.has(step.address));
    steps.map(|step| u64::from(step.times)).sum()
}

/// Computes the share of instructions that access memory. A section's record has only their number
/// including those of the loader. So sections in which the loader ran count only if there are no
/// others.
#[derive(Default)]
struct MemoryShare {
    own: (u64, u64),
    with_loader: (u64, u64),
}

impl MemoryShare {
    fn add(&mut self, with_loader: bool, accessing: u64, all: u64) {
        let sum = if with_loader { &mut self.with_loader } else { &mut self.own };
        *sum = (sum.0.saturating_add(accessing), sum.1.saturating_add(all));
    }

    fn share(&self) -> f64 {
        let (accessing, all) = if self.own.1 > 0 { self.own } else { self.with_loader };
        ratio(accessing, all).min(1.0)
    }
}

fn add_steps(
    section: &Section,
    (shared, loader): (&SharedWords, &Loader),
    steps: &mut FxHashMap<u64, StepFacts>,
    facts: &mut SiteFacts,
) {
    for step in section.steps.iter().filter(|step| !loader.has(step.address)) {
        let outside = step.accesses > 0;
        let shared = outside && shared.any(step.low, step.high);
        let total = steps.entry(step.address).or_default();
        total.address = step.address;
        total.times += u64::from(step.times);
        total.shared |= shared;
        facts.outside_instructions += u64::from(step.accesses);
        facts.shared_instructions += if shared { u64::from(step.accesses) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_its_ends_and_its_middle() {
        assert_eq!(Distribution::of(vec![]), Distribution::default());
        let d = Distribution::of((1..=101).rev().collect());
        assert_eq!(d, Distribution { mean: 51.0, median: 51, p90: 91, max: 101 });
    }

    #[test]
    fn a_range_of_addresses_is_shared_if_any_word_in_it_is() {
        let shared = SharedWords(vec![0x100, 0x200]);
        assert!(shared.any(0x100, 0x100));
        assert!(shared.any(0x107, 0x108), "the last byte of the word");
        assert!(!shared.any(0x108, 0x1ff));
        assert!(shared.any(0x108, 0x200));
        assert!(!shared.any(0x208, u64::MAX));
    }
}
