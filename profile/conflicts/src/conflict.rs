//! Finds out how often sections of a lock conflict, and on which fields of the data.
//!
//! There are two comparisons, both from the paper on Syncchar. The first compares each section with
//! those sections of other threads that are among the last 128 of the same lock, the window
//! (section 4.2, Table 3). This comparison shows how much concurrency the lock prevents. The second
//! compares each section that had to wait with those that it waited for (section 4.1, Table 2).
//! This comparison shows how much of the waiting was needless.
//!
//! Most traced sections were drawn at random. Sections that were traced because they were the first
//! of their call site ([`EARLY`]) would over-represent rare sites. So the window excludes such
//! sections if enough others were drawn.
//!
//! The result is the share of the compared pairs that conflict. How many sections conflict with any
//! section of the window is counted too, but says little about the lock, because it grows with the
//! window until it is nearly all of them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use syncline_trace::layout::{EARLY, NONE, WAITED, WordRecord};
use syncline_trace::{Section, Trace};

use crate::index::{Conflict, Window, pair};
use crate::sets::{LockSections, Set, Sets};
use crate::words::Word;

/// How many pairs of sections were compared, and how many of them conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of sections that were compared with at least one other.
    pub sections: u64,
    /// How many of those sections conflict with at least one other.
    pub conflicting_sections: u64,
    /// The number of pairs that were compared.
    pub pairs: u64,
    /// How many of those pairs conflict.
    pub conflicting: u64,
    /// The number of bytes in the later section's address set, summed over the conflicting pairs.
    pub set_bytes: u64,
    /// The number of bytes on which the pair conflicts, summed over the conflicting pairs.
    pub conflicting_bytes: u64,
}

impl Comparison {
    /// The share of pairs that conflict; 0 if no pair was compared.
    pub fn share(&self) -> f64 {
        ratio(self.conflicting, self.pairs)
    }

    /// The mean number of bytes in the later section's address set, over the conflicting pairs.
    pub fn mean_set_bytes(&self) -> f64 {
        ratio(self.set_bytes, self.conflicting)
    }

    /// The mean number of bytes that conflict in a conflicting pair.
    pub fn mean_conflicting_bytes(&self) -> f64 {
        ratio(self.conflicting_bytes, self.conflicting)
    }

    /// The uncertainty from sampling: in 19 of 20 cases, the share is within this distance of the
    /// true one.
    ///
    /// Pairs have sections in common, so the uncertainty depends on the number of sections and not
    /// on that of pairs. The variance of a mean over the pairs of n sections is at most 2/n of the
    /// variance of one pair (Hoeffding 1948), and nearly that much if a few sections conflict with
    /// all others. If no pair or every pair conflicts, that formula would give 0. In that case the
    /// result is 6/n, twice the 3/n of the rule of three for n sections.
    pub fn uncertainty(&self) -> f64 {
        let (share, sections) = (self.share(), self.sections as f64);
        match self.sections {
            0 => 1.0,
            _ if share == 0.0 || share == 1.0 => (2.0 * 3.0 / sections).min(1.0),
            _ => (1.96 * (2.0 * share * (1.0 - share) / sections).sqrt()).min(1.0),
        }
    }

    fn add(&mut self, set_bytes: u64, pairs: u64, conflicts: &[Conflict]) {
        self.sections += u64::from(pairs > 0);
        self.conflicting_sections += u64::from(!conflicts.is_empty());
        self.pairs += pairs;
        self.conflicting += conflicts.len() as u64;
        for conflict in conflicts {
            self.set_bytes += set_bytes;
            let bytes = conflict.words.iter().map(|(_, mask)| u64::from(mask.count_ones()));
            self.conflicting_bytes += bytes.sum::<u64>();
        }
    }

    /// The sum of two comparisons.
    pub fn plus(self, other: Comparison) -> Comparison {
        Comparison {
            sections: self.sections + other.sections,
            conflicting_sections: self.conflicting_sections + other.conflicting_sections,
            pairs: self.pairs + other.pairs,
            conflicting: self.conflicting + other.conflicting,
            set_bytes: self.set_bytes + other.set_bytes,
            conflicting_bytes: self.conflicting_bytes + other.conflicting_bytes,
        }
    }
}

/// A field of the data: the eight bytes at one offset in all heap blocks of one size from one
/// allocation site, or a word outside of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The eight bytes at an offset in blocks of the heap.
    Heap {
        /// The return address of the allocating call.
        site: u64,
        /// The size of such a block in bytes.
        size: u64,
        /// The distance in bytes from the block's start to the field.
        offset: u64,
    },
    /// The eight bytes at an address outside of the heap.
    Fixed {
        /// The address.
        address: u64,
    },
}

impl Field {
    /// The field that a word belongs to.
    pub fn of(word: &Word) -> Field {
        match word.object {
            Some(object) => Field::Heap {
                site: object.site,
                size: object.size,
                offset: word.address.wrapping_sub(object.start),
            },
            None => Field::Fixed { address: word.address },
        }
    }
}

/// A field on which pairs conflict, and how many pairs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The field.
    pub field: Field,
    /// The bytes of the field on which any pair conflicts, one bit each.
    pub bytes: u8,
    /// The number of pairs that conflict on it.
    pub pairs: u64,
    /// How many of those pairs conflict on nothing else.
    pub alone: u64,
    /// An instruction that read the field; 0 if none was seen.
    pub reader: u64,
    /// An instruction that wrote the field; 0 if none was seen.
    pub writer: u64,
}

/// The conflicts of the sections of one lock.
#[derive(Clone, Debug, Default)]
pub struct Conflicts {
    /// The comparison of sections with the last ones before them.
    pub window: Comparison,
    /// The comparison of sections with those that they waited for.
    pub contended: Comparison,
    /// The causes of conflicts in the first of these comparisons, the most frequent first.
    pub causes: Vec<Cause>,
}

/// If at least this many sections of a lock were drawn at random, only these are compared in the
/// window. If fewer were, all sections together are more conclusive.
const ENOUGH_DRAWN: usize = 16;

/// Compares the sections of a lock, each with the last `size` ones before it.
pub fn conflicts(trace: &Trace, sets: &Sets, lock: &LockSections, size: usize) -> Conflicts {
    let mut result = Conflicts::default();
    let mut window = Window::new(size);
    let mut causes = Causes::default();
    // Words on which no sections can conflict are left out, to save time: most of the data that
    // sections touch belongs to one thread, or is only read.
    let of_others = |set: &Set| Set {
        accesses: set
            .accesses
            .iter()
            .filter(|a| sets.words.may_conflict(a.word))
            .copied()
            .collect(),
        ..*set
    };
    let is_drawn = |set: &&Set| trace.sections[set.section].record.flags & EARLY == 0;
    let drawn_only = lock.sets.iter().filter(is_drawn).count() >= ENOUGH_DRAWN;
    let mut last: VecDeque<Set> = VecDeque::new();
    for (number, whole) in lock.sets.iter().enumerate() {
        let set = of_others(whole);
        if is_drawn(&whole) || !drawn_only {
            let found = window.conflicts(&set);
            result.window.add(whole.bytes(), window.comparable(&set), &found);
            for conflict in &found {
                causes.add(sets, &conflict.words, (set.section, &trace.sections[set.section]));
            }
            window.push(&set);
        }
        let waited_for = waited_for(trace, lock, number, size);
        let before = |other: usize| &last[last.len() + other - number];
        let found: Vec<Conflict> = waited_for
            .iter()
            .map(|&other| Conflict { ago: number - other, words: pair(&set, before(other)) })
            .filter(|conflict| !conflict.words.is_empty())
            .collect();
        result.contended.add(whole.bytes(), waited_for.len() as u64, &found);
        if last.len() == size.max(1) {
            last.pop_front();
        }
        last.push_back(set);
    }
    result.causes = causes.sorted();
    result
}

/// The numbers of the sections that the section `number` had to wait for: those among the `size`
/// before it that belong to other threads and ended while it waited. A reader does not wait for
/// readers.
fn waited_for(trace: &Trace, lock: &LockSections, number: usize, size: usize) -> Vec<usize> {
    let set = &lock.sets[number];
    let record = &trace.sections[set.section].record;
    if record.flags & WAITED == 0 {
        return Vec::new();
    }
    let began = record.acquired.saturating_sub(record.waited);
    let before = lock.sets[..number].iter().enumerate().rev().take(size);
    before
        .filter(|(_, other)| other.thread != set.thread && !(other.shared && set.shared))
        .filter(|(_, other)| trace.sections[other.section].record.released > began)
        .map(|(n, _)| n)
        .collect()
}

#[derive(Default)]
struct Causes {
    fields: FxHashMap<Field, Known>,
    /// The number of pairs that have been added.
    pairs: u64,
    /// A cache for [`find`]: the number of a section plus one, and the section's words, sorted by
    /// address.
    words: (usize, Vec<(u64, u32)>),
}

/// A cause; the number of the last pair that was counted for it; and the number plus one of the
/// section that was last searched for an instruction that accesses its field.
struct Known {
    cause: Cause,
    pair: u64,
    searched: usize,
}

impl Causes {
    /// Adds a pair of sections that conflict on these words and bytes. `section` is the later of
    /// the two, with its number.
    fn add(&mut self, sets: &Sets, words: &[(u32, u8)], section: (usize, &Section)) {
        self.pairs += 1;
        let (mut of_pair, mut only) = (0, None);
        for &(word, bytes) in words {
            let word = sets.words.get(word);
            let field = Field::of(&word);
            let known = self.fields.entry(field).or_insert_with(|| Known {
                cause: Cause { field, bytes: 0, pairs: 0, alone: 0, reader: 0, writer: 0 },
                pair: 0,
                searched: 0,
            });
            let cause = &mut known.cause;
            cause.bytes |= bytes;
            if known.pair != self.pairs {
                known.pair = self.pairs;
                cause.pairs += 1;
                of_pair += 1;
                only = Some(field);
            }
            let unknown = cause.reader == 0 || cause.writer == 0;
            if unknown && known.searched != section.0 + 1 {
                known.searched = section.0 + 1;
                if let Some(found) = find(&mut self.words, section, &word) {
                    cause.reader = if cause.reader == 0 { found.reader } else { cause.reader };
                    cause.writer = if cause.writer == 0 { found.writer } else { cause.writer };
                }
            }
        }
        if let (1, Some(field)) = (of_pair, only)
            && let Some(known) = self.fields.get_mut(&field)
        {
            known.cause.alone += 1;
        }
    }

    fn sorted(self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = self.fields.into_values().map(|known| known.cause).collect();
        causes.sort_by_key(|cause| (std::cmp::Reverse((cause.pairs, cause.alone)), cause.field));
        causes
    }
}

/// The record of the word `wanted` in a section; `None` if the section did not touch the word.
/// `words` caches the sorted words of the section of the last call.
fn find<'a>(
    words: &mut (usize, Vec<(u64, u32)>),
    (number, section): (usize, &'a Section),
    wanted: &Word,
) -> Option<&'a WordRecord> {
    if words.0 != number + 1 {
        words.0 = number + 1;
        words.1.clear();
        words.1.extend((0..).zip(&section.words).map(|(n, word)| (word.address, n)));
        words.1.sort_unstable();
    }
    let first = words.1.partition_point(|&(address, _)| address < wanted.address);
    let here = words.1[first..].iter().take_while(|(address, _)| *address == wanted.address);
    here.map(|&(_, n)| &section.words[n as usize])
        .find(|word| (word.object == NONE) == wanted.object.is_none())
}

/// The quotient of `part` and `whole`; 0 if `whole` is 0.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
