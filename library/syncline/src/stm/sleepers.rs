//! Transactions that wait until something that they have read changes.
//!
//! A sleeper puts itself on a list, counts itself, and then looks once more whether anything has
//! changed. A commit locks what it writes, or [changes the epoch](super::serial), and then looks at
//! the count. So either the commit finds a sleeper, or the sleeper finds a cell locked or changed,
//! or the epoch odd. This holds because all threads see these accesses in one order: the commit's
//! lock or change of the epoch, its read of the count, the sleeper's increment of the count, and
//! the sleeper's reads of the cells and the epoch. A commit that finds no sleeper only pays for
//! reading a line that is rarely written.
//!
//! A commit wakes only threads that have read a cell that it has written.

use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use super::guarded::Guarded;
use crate::lock::Mcs;
use crate::memory::{Long, LongMemory, Native, Own};
use crate::wait::Wait;

const ASLEEP: u32 = 0;
const WOKEN: u32 = 2;

/// The sleeping transactions of an engine.
pub struct Sleepers<W: Wait, M: LongMemory> {
    count: M::Long,
    list: Guarded<Vec<Sleeper<M>>, Mcs<W, M>>,
}

struct Sleeper<M: LongMemory> {
    word: M::Ref<M::Word>,
    /// The stamps of the cells that it has read; valid while the sleeper is on the list.
    reads: NonNull<[NonNull<M::Long>]>,
}

// SAFETY: what a sleeper refers to is shared or only read, and stays valid while it is on the list.
unsafe impl<M: LongMemory> Send for Sleeper<M> {}

impl<W: Wait> Sleepers<W, Native> {
    /// A list without sleepers. It is `const`.
    pub const fn fresh() -> Self {
        Self { count: AtomicU64::new(0), list: Guarded::fresh(Vec::new()) }
    }
}

impl<W: Wait, M: LongMemory> Sleepers<W, M> {
    /// A list without sleepers.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { count: M::Long::default(), list: Guarded::new(Vec::new()) }
    }

    /// Whether any thread sleeps. A commit asks this after it has locked all cells that it writes,
    /// or at the end of a transaction that ran in place.
    #[inline]
    pub fn any(&self) -> bool {
        // SeqCst: after the locks, or after the change of the epoch.
        self.count.load(SeqCst) != 0
    }

    /// Sleeps until a commit writes one of the cells with these stamps. Returns at once if
    /// `all_hold` finds that one has changed already.
    pub fn sleep_while(&self, reads: &[NonNull<M::Long>], all_hold: impl FnOnce() -> bool) {
        let word = Own::<M::Word, M>::default();
        let me = M::refer::<M::Word>(&word);
        self.list.with(|list| list.push(Sleeper { word: me, reads: NonNull::from(reads) }));
        let _leaves = Asleep { sleepers: self, word: me };
        // SeqCst: before `all_hold` reads the stamps.
        self.count.fetch_add(1, SeqCst);
        if all_hold() {
            W::wait::<M>(&word, 0, None, |word| word != ASLEEP);
        }
    }

    /// Wakes the threads that have read a cell for which `written` returns true.
    #[cold]
    pub fn wake(&self, mut written: impl FnMut(NonNull<M::Long>) -> bool) {
        self.list.with(|list| {
            for sleeper in list {
                // SAFETY: a sleeper stays until it has taken itself off the list.
                let (reads, word) = unsafe { (sleeper.reads.as_ref(), M::follow(sleeper.word)) };
                if reads.iter().any(|&at| written(at)) {
                    W::hand_over::<M>(word, WOKEN);
                }
            }
        });
    }
}

/// A sleeper on the list. When dropped, even while a panic unwinds, it is taken off the list and no
/// longer counted.
struct Asleep<'a, W: Wait, M: LongMemory> {
    sleepers: &'a Sleepers<W, M>,
    word: M::Ref<M::Word>,
}

impl<W: Wait, M: LongMemory> Drop for Asleep<'_, W, M> {
    fn drop(&mut self) {
        self.sleepers.list.with(|list| list.retain(|sleeper| sleeper.word != self.word));
        self.sleepers.count.fetch_add(u64::MAX, SeqCst);
    }
}
