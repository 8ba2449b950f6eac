//! The address sets of the sections, prepared for comparison.
//!
//! Several kinds of recorded accesses are left out. Accesses to the thread's own stack are left out
//! because each call uses the same addresses again. Accesses to the words of all locks in the trace
//! ([`LockWords`]) are left out because every section changes its lock, and other synchronization
//! would not need the lock (Syncchar, section 3).
//!
//! The work of the dynamic loader at the first call of a function is left out too: it writes the
//! function's address into a word that is never changed again, and that all callers read. Reads of
//! such words, which only find the target of a jump, are left out as well.
//!
//! A word is identified by its address and the heap block that it lay in. If the block has been
//! freed and its memory used again, the same address is another word. The same is true of locks.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use syncline_trace::layout::{NONE, PLAINLY_READ, PLAINLY_WRITTEN, RELEASED_BY_OTHER, STOP_NONE};
use syncline_trace::{Section, Trace};

use crate::lock_words::LockWords;
use crate::words::{Word, Words};

/// How a section accessed a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The word's number in [`Sets::words`].
    pub word: u32,
    /// The bytes of the word that it read, one bit each.
    pub read: u8,
    /// The bytes of the word that it wrote, one bit each.
    pub written: u8,
    /// Whether only atomic instructions wrote to the word.
    pub atomic: bool,
}

/// One execution of a critical section, and its address set.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its index in [`Trace::sections`].
    pub section: usize,
    /// The index of its thread in the trace.
    pub thread: u32,
    /// Whether it held the lock as a reader, so that other readers could hold the lock at the same
    /// time.
    pub shared: bool,
    /// Its accesses: one entry for each word, sorted by word.
    pub accesses: Vec<Access>,
}

impl Set {
    /// The number of distinct bytes that the section accessed.
    pub fn bytes(&self) -> u64 {
        self.accesses.iter().map(|a| u64::from((a.read | a.written).count_ones())).sum()
    }
}

/// The sections of one lock.
#[derive(Clone, Debug)]
pub struct LockSections {
    /// The lock's address.
    pub lock: u64,
    /// Which of the successive locks at that address it is: the serial number of the heap block
    /// that contains it, or 0.
    pub incarnation: u64,
    /// The sections that can be compared, in the order in which they held the lock.
    pub sets: Vec<Set>,
    /// The number of sections that can't be compared because tracing stopped in them, so that their
    /// sets are incomplete.
    pub stopped: u64,
    /// The number of sections that can't be compared because one thread began them and another
    /// ended them, so that their accesses belong to both threads.
    pub handed_over: u64,
}

/// All address sets of a trace.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    /// The words of memory, by number.
    pub words: Words,
    /// The locks, by address.
    pub locks: Vec<LockSections>,
}

impl Sets {
    /// Makes the address sets of a trace. `progress` is called once for each section.
    pub fn of(trace: &Trace, mut progress: impl FnMut()) -> Sets {
        let stacks: FxHashMap<u32, (u64, u64)> = trace
            .threads
            .iter()
            .map(|t| (t.index, (t.record.stack_low, t.record.stack_high)))
            .collect();
        let left_out = LeftOut::of(trace);
        let mut words = Words::default();
        let mut locks: BTreeMap<(u64, u64), LockSections> = BTreeMap::new();
        for (number, section) in trace.sections.iter().enumerate() {
            let stack = stacks.get(&section.thread).copied().unwrap_or_default();
            progress();
            let record = &section.record;
            let accesses = accesses(&mut words, section, stack, &left_out);
            let lock =
                locks.entry((record.lock, record.incarnation)).or_insert_with(|| LockSections {
                    lock: record.lock,
                    incarnation: record.incarnation,
                    sets: Vec::new(),
                    stopped: 0,
                    handed_over: 0,
                });
            if record.stopped != STOP_NONE {
                lock.stopped += 1;
            } else if record.flags & RELEASED_BY_OTHER != 0 {
                lock.handed_over += 1;
            } else {
                let shared = record.flags & syncline_trace::layout::SHARED != 0;
                lock.sets.push(Set { section: number, thread: section.thread, shared, accesses });
            }
        }
        let mut locks: Vec<_> = locks.into_values().collect();
        for lock in &mut locks {
            lock.sets.sort_by_key(|set| trace.sections[set.section].record.order);
        }
        words.finish();
        Sets { words, locks }
    }
}

/// The words that are left out of all sections.
struct LeftOut {
    locks: LockWords,
    loader: Loader,
    /// The words that the loader has written.
    bound: FxHashSet<u64>,
}

impl LeftOut {
    fn of(trace: &Trace) -> LeftOut {
        let loader = Loader::of(trace);
        let words = trace.sections.iter().flat_map(|section| &section.words);
        let bound = words.filter(|word| loader.has(word.writer)).map(|word| word.address).collect();
        LeftOut { locks: LockWords::of(trace), loader, bound }
    }
}

/// The accesses of a section without those that are left out, sorted by word.
fn accesses(
    words: &mut Words,
    section: &Section,
    stack: (u64, u64),
    left_out: &LeftOut,
) -> Vec<Access> {
    let mut accesses = Vec::with_capacity(section.words.len());
    for word in &section.words {
        let loaders = word.written == 0 && left_out.loader.has(word.reader)
            || left_out.bound.contains(&word.address);
        if loaders || (stack.0..stack.1).contains(&word.address) {
            continue;
        }
        let object = (word.object != NONE).then(|| section.objects.get(word.object as usize));
        let object = object.flatten();
        let keep = !left_out.locks.bytes(word.address, object);
        let (read, written) = (word.read & keep, word.written & keep);
        // The word is only read as the target of a jump: a word of the linkage table, which does
        // not change any more once the loader has written it.
        let links = word.flags & PLAINLY_READ == 0 && written == 0;
        if read | written == 0 || links {
            continue;
        }
        let atomic = word.flags & PLAINLY_WRITTEN == 0;
        let word = Word { address: word.address, object: object.copied() };
        let Some(word) = words.access(word, section.thread, written != 0) else { continue };
        accesses.push(Access { word, read, written, atomic });
    }
    accesses.sort_unstable_by_key(|access| access.word);
    // A damaged file may contain a word twice.
    accesses.dedup_by(|next, kept| {
        let same = next.word == kept.word;
        if same {
            kept.read |= next.read;
            kept.written |= next.written;
            kept.atomic &= next.atomic;
        }
        same
    });
    accesses.shrink_to_fit();
    accesses
}

/// The first address of the dynamic loader's code, and one past the last; both 0 in a program
/// without a loader.
pub struct Loader(u64, u64);

impl Loader {
    /// The dynamic loader of the traced program.
    pub fn of(trace: &Trace) -> Loader {
        let is_loader =
            |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("ld-linux"));
        let module = trace.modules.iter().find(|module| is_loader(&module.path()));
        module.map_or(Loader(0, 0), |module| Loader(module.start, module.end))
    }

    /// Whether an instruction belongs to the loader.
    pub fn has(&self, instruction: u64) -> bool {
        (self.0..self.1).contains(&instruction)
    }
}
