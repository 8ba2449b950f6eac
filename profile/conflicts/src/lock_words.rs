//! The words of locks, which are not data of any section.
//!
//! A lock in the heap is gone when its block has been freed, and if the memory is used again, its
//! words are data. The blocks that contained a lock are known for the sections that were traced.
//! Blocks of the same kind (of the same size, from the same call site) contain such a lock too,
//! even if none of its sections was traced. So a word in which a lock lay at any time is left out
//! if its block is of a kind that has a lock at this offset.
//!
//! If the block of some of the locks at an address is unknown, the word is left out whatever it is
//! used for. The block is unknown if the lock lay outside of the heap, if no section of the lock
//! was traced, or if no section was traced at the call site of some of its acquisitions.

use rustc_hash::{FxHashMap, FxHashSet};
use syncline_recording::{Op, Primitive};
use syncline_trace::Trace;
use syncline_trace::layout::ObjectRecord;

/// A word of a kind of blocks: the allocation site, the size, and the word's offset.
type WordOfKind = (u64, u64, u64);

/// The words of all locks of a trace. In each, a bit stands for each byte that belongs to a lock.
#[derive(Default)]
pub struct LockWords {
    /// The words in which there ever was a lock, by address.
    ever: FxHashMap<u64, u8>,
    /// The words in which there may be a lock whatever the memory is used for, by address.
    anywhere: FxHashMap<u64, u8>,
    of_kinds: FxHashMap<WordOfKind, u8>,
}

impl LockWords {
    /// The words of the locks that the trace's sections and counts name.
    pub fn of(trace: &Trace) -> LockWords {
        let mut words = LockWords::default();
        // Locks are identified by address and size.
        let mut traced: FxHashSet<(u64, u64)> = FxHashSet::default();
        let mut sites: FxHashSet<u64> = FxHashSet::default();
        // Each lock and its block; `None` if that is unknown.
        let mut lay_in: FxHashSet<(u64, u64, Option<ObjectRecord>)> = FxHashSet::default();
        for section in &trace.sections {
            let (lock, size) = (section.record.lock, size_of_lock(section.record.op));
            traced.insert((lock, size));
            sites.insert(section.record.site);
            let covers = |block: &&ObjectRecord| lock.wrapping_sub(block.start) < block.size;
            // There may be several blocks if one was freed just after the section.
            let blocks = || section.objects.iter().filter(covers);
            lay_in.extend(blocks().map(|block| (lock, size, Some(*block))));
            if blocks().next().is_none() {
                lay_in.insert((lock, size, None));
            }
        }
        for (_, count) in &trace.counts {
            let (lock, size) = (count.lock, size_of_lock(count.op));
            if !traced.contains(&(lock, size)) || !sites.contains(&count.site) {
                lay_in.insert((lock, size, None));
            }
        }
        lay_in.iter().for_each(|(lock, size, block)| words.add(*lock, *size, block.as_ref()));
        words
    }

    fn add(&mut self, lock: u64, size: u64, block: Option<&ObjectRecord>) {
        for byte in lock..lock.saturating_add(size) {
            let (word, bit) = (byte & !7, 1 << (byte & 7));
            *self.ever.entry(word).or_default() |= bit;
            *match block {
                None => self.anywhere.entry(word).or_default(),
                Some(block) => self.of_kinds.entry(of_kind(word, block)).or_default(),
            } |= bit;
        }
    }

    /// The bytes of a word that belong to a lock, one bit each. `block` is the block of the heap in
    /// which the word lies; `None` if that is unknown.
    pub fn bytes(&self, word: u64, block: Option<&ObjectRecord>) -> u8 {
        let Some(&ever) = self.ever.get(&word) else { return 0 };
        let Some(block) = block else { return ever };
        let anywhere = self.anywhere.get(&word).copied().unwrap_or(0);
        let of_kind = self.of_kinds.get(&of_kind(word, block)).copied().unwrap_or(0);
        ever & (anywhere | of_kind)
    }
}

fn of_kind(word: u64, block: &ObjectRecord) -> WordOfKind {
    (block.site, block.size, word.wrapping_sub(block.start))
}

/// The size of a lock in bytes. If the trace states it (in the high bits of `op`), it is that.
/// Otherwise it is the size of the type in glibc on x86-64 or in GCC's OpenMP, or 0 if the type is
/// unknown.
fn size_of_lock(op: u32) -> u64 {
    if op >> 8 != 0 {
        return u64::from(op >> 8);
    }
    let op = u8::try_from(op).ok().and_then(Op::from_code);
    match op.map(Op::primitive) {
        Some(Primitive::Mutex) => 40,
        Some(Primitive::Rwlock) => 56,
        Some(Primitive::Spinlock) => 4,
        Some(Primitive::Semaphore) => 32,
        Some(Primitive::OmpLock) => 4,
        _ => 0,
    }
}
