//! Window locks that outlive their holders: the changes that a dead rank left in the words are
//! undone.
//!
//! The locks are [`BestEffort`] and [`Global`], whose words are counts. A count does not say which
//! ranks are counted. So each rank has an entry for each part, and one for all parts. An entry says
//! what the rank has added to the words:
//!
//! ```text
//!   0         nothing
//!   COUNTED   a writer in the global word
//!   HOLDS     a writer in the part's word, and in the global one
//!   SHARES    a reader: of the part in its word, of all parts in the global one
//!   MOVING    the words are being changed
//! ```
//!
//! A rank that waits for long asks which ranks are alive. If a rank that has added something is
//! dead, the waiting rank repairs: it records that it repairs, waits until no living rank is
//! moving, and rewrites the words from the entries of the living. A part that a dead rank held
//! alone is marked: the data that the lock protects may be inconsistent, and the next holder can
//! find out ([`Robust::is_orphaned`]).
//!
//! 1. A rank changes words only while its entry is `MOVING` and it has seen, after a barrier, that
//!    no rank repairs.
//! 2. A rank that repairs writes words only once it has seen, after a barrier, that no living
//!    rank's entry is `MOVING`.
//!
//! If one rank changes words and another one repairs at the same time, at least one of them sees
//! the other. So no change of a word is lost in a repair. After a repair the words agree exactly
//! with the entries. A repair clears the entries of dead ranks one by one; if a rank dies after its
//! entry was visited, the next repair finds it. A rank that dies while it repairs is followed by
//! another, which starts again.
//!
//! Queue locks are not repaired: a rank that is behind a dead rank in a queue waits for a word that
//! only the dead rank would have written. [`Ordered`](super::Ordered) has queue locks in front of
//! these locks.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use super::best_effort::BestEffort;
use super::best_effort::Tries;
use super::global::Global;
use crate::lock::{RawLock, RawSharedLock, TryLock, TrySharedLock};
use crate::memory::{Memory, Word};
use crate::wait::Wait;

const COUNTED: u32 = 1;
const HOLDS: u32 = 2;
const SHARES: u32 = 3;
const MOVING: u32 = 4;

/// Each time that a waiter has waited for this long, it asks which ranks live.
pub(super) const ASK_AFTER: Duration = Duration::from_millis(100);
/// Without a deadline, a waiter reads the clock once in `PAUSES` pauses.
const PAUSES: u32 = 16;

/// The words of a window, all zero at first, and the knowledge of which ranks live.
pub trait Table<const BACK_OFF: bool, W: Wait, M: Memory> {
    /// The number of ranks, which is also the number of parts.
    fn ranks(&self) -> usize;
    /// The window's word.
    fn global(&self) -> &Global<W, M>;
    /// A part's lock.
    fn part(&self, target: usize) -> &BestEffort<BACK_OFF, W, M>;
    /// What a rank has added for the part `target`, or for all parts if `target` is
    /// [`ranks`](Self::ranks).
    fn entry(&self, rank: usize, target: usize) -> &M::Word;
    /// Not zero if a rank has died while it held the part alone, and the part was not declared
    /// consistent since.
    fn orphaned(&self, target: usize) -> &M::Word;
    /// 1 + the rank that repairs, or 0.
    fn repairer(&self) -> &M::Word;
    /// Whether a rank lives. A dead rank stays dead, and does nothing any more.
    fn lives(&self, rank: usize) -> bool;
}

/// The locks of a window, as one rank uses them.
///
/// Acquiring has Acquire ordering and releasing Release ordering, between a part and the whole
/// window as well.
#[derive(Debug)]
pub struct Robust<'a, const BACK_OFF: bool, W: Wait, M: Memory, T> {
    table: &'a T,
    rank: usize,
    policy: PhantomData<fn() -> (W, M)>,
}

impl<'a, const BACK_OFF: bool, W: Wait, M: Memory, T: Table<BACK_OFF, W, M>>
    Robust<'a, BACK_OFF, W, M, T>
{
    /// The locks of this table, as this rank uses them.
    pub fn new(table: &'a T, rank: usize) -> Self {
        Robust { table, rank, policy: PhantomData }
    }

    /// Waits until no rank holds or shares the part and no rank shares all parts, and takes the
    /// part. Waits at most until the deadline on the memory's clock, if there is one. Returns
    /// whether the part was taken.
    ///
    /// # Safety
    ///
    /// The rank neither holds nor waits for this part.
    #[inline]
    pub unsafe fn acquire(&self, target: usize, deadline: Option<Duration>) -> bool {
        let (global, part) = (self.table.global(), self.table.part(target));
        // Relaxed: only this rank changes its entry. After `enter_as_writer` the entry is already
        // `COUNTED`.
        let mut added = self.table.entry(self.rank, target).load(Relaxed);
        // A rank that is counted in the global word stays counted while it waits for the part.
        let enter = |added| {
            if added == 0 && !global.try_enter_as_writer() {
                return 0;
            }
            // SAFETY: the rank releases the part when it gives it back, or a repair does so after
            // the rank's death.
            if unsafe { part.try_acquire(&()) } { HOLDS } else { COUNTED }
        };
        let mut wait = Waiting::default();
        loop {
            added = self.change(target, added, enter).unwrap_or(added);
            if added == HOLDS {
                return true;
            }
            if !self.pause(&mut wait, deadline) {
                break;
            }
        }
        if added == COUNTED {
            self.must_change(target, COUNTED, || global.leave_as_writer());
        }
        false
    }

    /// Waits until no rank shares all parts, and lets no rank share them from then on. The caller
    /// has to call [`acquire`](Self::acquire) for the part next.
    #[inline]
    pub(super) fn enter_as_writer(&self, target: usize) {
        let global = self.table.global();
        let enter = |_| if global.try_enter_as_writer() { COUNTED } else { 0 };
        let mut wait = Waiting::default();
        while self.change(target, 0, enter) != Some(COUNTED) {
            self.pause(&mut wait, None);
        }
    }

    /// Releases the part, which this rank holds alone.
    ///
    /// # Safety
    ///
    /// The rank holds the part.
    #[inline]
    pub unsafe fn release(&self, target: usize) {
        self.must_change(target, HOLDS, || {
            // SAFETY: our caller's promise.
            unsafe { self.table.part(target).release(&()) };
            self.table.global().leave_as_writer();
        });
    }

    /// Waits until no rank holds the part alone, and shares it. Waits at most until the deadline on
    /// the memory's clock, if there is one. Returns whether the part is shared.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire`](Self::acquire).
    #[inline]
    pub unsafe fn acquire_shared(&self, target: usize, deadline: Option<Duration>) -> bool {
        let part = self.table.part(target);
        // SAFETY: the rank releases the part when it gives it back, or a repair does so after the
        // rank's death.
        self.share(target, deadline, || unsafe { part.try_acquire_shared(&()) })
    }

    /// Gives up this rank's share of the part.
    ///
    /// # Safety
    ///
    /// The rank shares the part.
    #[inline]
    pub unsafe fn release_shared(&self, target: usize) {
        // SAFETY: our caller's promise.
        self.must_change(target, SHARES, || unsafe { self.table.part(target).release_shared(&()) });
    }

    /// Waits until no writer is counted, whether it holds a part or waits for one, and shares all
    /// parts.
    #[inline]
    pub fn acquire_all(&self) {
        self.acquire_all_until(None);
    }

    /// Like [`acquire_all`](Self::acquire_all), but only if that needs no waiting. Returns whether
    /// all parts are shared now.
    pub fn try_acquire_all(&self) -> bool {
        self.acquire_all_until(Some(Duration::ZERO))
    }

    #[inline]
    fn acquire_all_until(&self, deadline: Option<Duration>) -> bool {
        self.share(self.table.ranks(), deadline, || self.table.global().try_acquire_all())
    }

    /// Gives up the share of all parts, which the rank has.
    #[inline]
    pub fn release_all(&self) {
        self.must_change(self.table.ranks(), SHARES, || self.table.global().release_all());
    }

    /// Whether a rank has died while it held the part alone, and no rank has declared the part's
    /// data consistent since.
    #[inline]
    pub fn is_orphaned(&self, target: usize) -> bool {
        // Relaxed: a repair sets the mark before it writes the word that lets this rank in.
        self.table.orphaned(target).load(Relaxed) != 0
    }

    /// Declares the part's data consistent. The rank must hold the part.
    pub fn make_consistent(&self, target: usize) {
        // Relaxed: the release of the part carries it on.
        self.table.orphaned(target).store(0, Relaxed);
    }

    fn share(
        &self,
        target: usize,
        deadline: Option<Duration>,
        mut enter: impl FnMut() -> bool,
    ) -> bool {
        let mut wait = Waiting::default();
        loop {
            if self.change(target, 0, |_| if enter() { SHARES } else { 0 }) == Some(SHARES) {
                return true;
            }
            if !self.pause(&mut wait, deadline) {
                return false;
            }
        }
    }

    /// Calls `change`, which changes words, and sets the entry from `added` to the result of
    /// `change`. Returns the entry's new value. While a rank repairs, changes nothing and returns
    /// `None`.
    #[inline]
    fn change(&self, target: usize, added: u32, change: impl FnOnce(u32) -> u32) -> Option<u32> {
        let entry = self.table.entry(self.rank, target);
        // Relaxed: the barrier pairs with the one in `as_repairer`, either way round (rules 1 and
        // 2).
        entry.store(MOVING, Relaxed);
        M::light_barrier();
        // Acquire: pairs with the Release at the end of a repair, so this rank sees the repaired
        // words.
        if self.table.repairer().load(Acquire) != 0 {
            // Release: as below.
            entry.store(added, Release);
            return None;
        }
        let now = change(added);
        // Release: pairs with the Acquire in `settled`, so the repairing rank sees the changed
        // words.
        entry.store(now, Release);
        Some(now)
    }

    /// Like [`change`](Self::change), but sets the entry to 0, and waits for repairs to end.
    #[inline]
    fn must_change(&self, target: usize, added: u32, mut change: impl FnMut()) {
        let mut wait = Waiting::default();
        let mut to_nothing = |_| {
            change();
            0
        };
        while self.change(target, added, &mut to_nothing).is_none() {
            self.pause(&mut wait, None);
        }
    }

    /// Pauses before the next try. Returns whether there is still time before the deadline.
    #[cold]
    fn pause(&self, wait: &mut Waiting, deadline: Option<Duration>) -> bool {
        if deadline.is_some_and(|deadline| M::now() >= deadline) {
            return false;
        }
        wait.tries.step_back::<BACK_OFF, W, M>();
        if wait.tries.failed.is_multiple_of(PAUSES) {
            let now = M::now();
            let since = *wait.since.get_or_insert(now);
            if now.saturating_sub(since) >= ASK_AFTER {
                wait.since = Some(now);
                self.repair_after_deaths();
            }
        }
        true
    }

    /// Repairs if a rank that has added something, or that was repairing, is dead. Returns whether
    /// it repaired.
    pub fn repair_after_deaths(&self) -> bool {
        let entries = self.table.ranks() + 1;
        // Acquire: as in `change`.
        let repairer = self.table.repairer().load(Acquire);
        // Relaxed: a hint of which rank to ask about.
        let has_added = |rank| (0..entries).any(|at| self.table.entry(rank, at).load(Relaxed) != 0);
        let is_dead = |rank| !self.table.lives(rank);
        let needed = match (repairer as usize).checked_sub(1) {
            // The repairing rank looks at all ranks.
            Some(repairer) => is_dead(repairer),
            None => (0..self.table.ranks()).any(|rank| has_added(rank) && is_dead(rank)),
        };
        needed && self.as_repairer(repairer, || self.repair())
    }

    /// Calls `f`, after a barrier, while this rank is recorded as the one that repairs. `before` is
    /// the earlier record. If the record is no longer `before`, because another rank was quicker,
    /// returns `false` without calling `f`.
    pub(super) fn as_repairer(&self, before: u32, f: impl FnOnce()) -> bool {
        let repairer = self.table.repairer();
        // Acquire: pairs with the Release of the last repair's end. One rank repairs at a time.
        if repairer.exchange(before, self.rank as u32 + 1, Acquire).is_err() {
            return false;
        }
        // This pairs with the light barriers in `change` and in `line_up` of `ordered.rs` (rules 1
        // and 2 of both files).
        M::heavy_barrier();
        f();
        // Release: pairs with the Acquire in `change` and `repair_after_deaths`.
        repairer.store(0, Release);
        true
    }

    /// Rewrites all words.
    #[cold]
    fn repair(&self) {
        let ranks = self.table.ranks();
        let mut all = (0, 0);
        for target in 0..=ranks {
            let (mut readers, mut written, mut counted) = (0, false, 0);
            for rank in 0..ranks {
                let added = self.settled(rank, target);
                readers += u32::from(added == SHARES);
                written |= added == HOLDS;
                counted += u32::from(added == HOLDS || added == COUNTED);
            }
            all.0 += counted;
            if target == ranks {
                all.1 = readers;
            } else {
                self.table.part(target).restore(readers, written);
            }
        }
        self.table.global().restore(all.0, all.1);
    }

    /// What a rank has added. Waits while its entry is `MOVING`; clears a dead rank's entry.
    fn settled(&self, rank: usize, target: usize) -> u32 {
        let entry = self.table.entry(rank, target);
        let mut looks = 0;
        loop {
            // Acquire: pairs with the Release stores in `change`.
            let added = entry.load(Acquire);
            if added == 0 {
                return 0;
            }
            if !self.table.lives(rank) {
                // The rank may have continued between our load and its death, so the entry is read
                // again. Relaxed, here and below: the dead rank changes nothing any more, and the
                // part's word is written after both stores, with Release.
                if entry.load(Relaxed) == HOLDS {
                    self.table.orphaned(target).store(1, Relaxed);
                }
                entry.store(0, Relaxed);
                return 0;
            }
            if added != MOVING {
                return added;
            }
            looks += 1;
            W::pause_at::<M, _>(entry, looks);
        }
    }
}

/// The state of a wait.
#[derive(Default)]
struct Waiting {
    tries: Tries,
    /// When this rank last asked which ranks live or, if it has not asked yet, first read the clock
    /// in this wait.
    since: Option<Duration>,
}
