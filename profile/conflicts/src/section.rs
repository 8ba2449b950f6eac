//! The facts about the sections of one call site: how long they are, and how much of them is about
//! shared data (SyncPerf, section 3.2 and Figure 5).
//!
//! The dynamic loader's work at the first call of a function, some 700 instructions once in a
//! program's life, is left out.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use syncline_trace::layout::{IO, STOP_LIMIT, STOP_NONE};
use syncline_trace::{Section, Trace};

use crate::conflict::ratio;
use crate::sets::{Loader, Set, Sets};
use crate::system_calls::is_io;

/// The distribution of a number over sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub median: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The greatest.
    pub max: u64,
}

impl Distribution {
    /// The distribution of these values.
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

/// The facts about an instruction over all sections of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFacts {
    /// Its address.
    pub address: u64,
    /// How often it was executed.
    pub times: u64,
    /// Whether it may have accessed a word that several threads accessed.
    pub shared: bool,
}

/// The facts about the sections of one call site, of one lock or of several.
#[derive(Clone, Debug, Default)]
pub struct SiteFacts {
    /// Return address of the acquiring call.
    pub site: u64,
    /// The number of acquisitions, traced or not.
    pub acquisitions: u64,
    /// The number of sections traced, including those in which tracing stopped.
    pub traced: u64,
    /// The instructions of a section, over those that were traced to their end.
    pub instructions: Distribution,
    /// The number of instructions of all sections together.
    pub total_instructions: u64,
    /// The share of instructions that accessed memory, including stacks.
    pub memory_share: f64,
    /// How many of all these instructions accessed memory outside of the thread's stack.
    pub outside_instructions: u64,
    /// How many of the latter may have accessed a word that several threads accessed.
    pub shared_instructions: u64,
    /// The mean number of distinct words outside of its stack that a section accessed. This and
    /// what follows, down to `plainly_writing`, is over the sections that can be compared.
    pub words: f64,
    /// How many of those words it read.
    pub words_read: f64,
    /// How many of those words it wrote.
    pub words_written: f64,
    /// How many of those words several threads accessed.
    pub words_shared: f64,
    /// The mean number of bytes in those words that it accessed.
    pub bytes: f64,
    /// The largest number of words shared by several threads that one section accessed.
    pub shared_max: u64,
    /// The number of sections that wrote outside of their stack.
    pub writing: u64,
    /// How many of those wrote there with instructions that are not atomic.
    pub plainly_writing: u64,
    /// The number of sections that allocated or freed memory.
    pub allocating: u64,
    /// The numbers of system calls, each with the number of sections that made it.
    pub system_calls: BTreeMap<u32, u64>,
    /// The number of sections that made any system call.
    pub calling: u64,
    /// The number of sections that did input or output.
    pub doing_io: u64,
    /// The number of sections in which tracing stopped.
    pub stopped: u64,
    /// How many of those were too long to be traced to their end.
    pub cut: u64,
    /// The reasons why tracing stopped, as in the trace, each with its number of sections.
    pub stops: BTreeMap<u32, u64>,
    /// The instructions, those that were executed most often first.
    pub steps: Vec<StepFacts>,
}

impl SiteFacts {
    /// The share of instructions that certainly touched no shared data; 1 if none was traced.
    pub fn unshared_share(&self) -> f64 {
        1.0 - ratio(self.shared_instructions, self.total_instructions).min(1.0)
    }
}

/// The facts of each call site over these sections; the sites with the most acquisitions come
/// first. `set_of` has the address sets of the sections that can be compared, by the section's
/// number.
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
            let mut facts = one(trace, sets, &sections, set_of, (shared, loader));
            facts.site = site;
            facts.acquisitions = acquisitions.get(&site).copied().unwrap_or(0).max(facts.traced);
            facts
        })
        .collect();
    facts.sort_by_key(|f| (std::cmp::Reverse(f.acquisitions), f.site));
    facts
}

/// The addresses of the words that several threads accessed, in order.
pub struct SharedWords(Vec<u64>);

impl SharedWords {
    /// The shared words of these sets.
    pub fn of(sets: &Sets) -> SharedWords {
        SharedWords(sets.words.shared())
    }

    /// Whether a shared word has a byte in this range of addresses, which includes both ends.
    fn any(&self, low: u64, high: u64) -> bool {
        let first = self.0.partition_point(|&address| address.saturating_add(7) < low);
        self.0.get(first).is_some_and(|&address| address <= high)
    }
}

fn one(
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

/// The number of instructions of the loader in a section.
fn instructions_of(section: &Section, loader: &Loader) -> u64 {
    let steps = section.steps.iter().filter(|step| loader.has(step.address));
    steps.map(|step| u64::from(step.times)).sum()
}

/// The share of instructions that access memory. A section's number of these includes the loader's
/// instructions, so sections with work of the loader count only if there are no others.
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
