//! Finds the locks that threads wait for most. The budget is used for their sections first.
//!
//! Randomly chosen sections would mostly belong to locks that are acquired often, and not to those
//! that cost time. (The contended lock of a server may have one acquisition in ten, but less than
//! one in a thousand of the cheap sections.) So waits are summed as they happen, by family. A
//! family is a lock, or the locks that threads wait for at one call site, grouped as in a report.
//! The three families with the longest waits are *watched*. When [`ENOUGH`] sections of a watched
//! family have been traced, the family makes room for the next one. While any family is watched
//! ([`Waits::any`]), a part of the budget is reserved for watched families.
//!
//! Waits decide only which families are watched. Among a family's acquisitions, those to trace are
//! drawn at random, whether or not they waited (`call::choose`). So the results for a lock hold for
//! all its sections.
//!
//! The costs are small: a thread adds to the sums only when it has just waited, which took
//! microseconds anyway, and when it begins a traced section. Other acquisitions only call
//! [`Waits::watch`], which reads a cache line that rarely changes.
//!
//! All values are hints, and nothing depends on the order in which other threads see them. So
//! accesses are relaxed, except those to the flag `changing`.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The number of families that are watched at a time.
pub const WATCHED: usize = 3;
/// A family is watched until this many of its sections have been traced. A report needs 200
/// (`syncline_conflicts`), and some traced sections can't be compared.
pub const ENOUGH: u32 = 256;
/// A family replaces a watched one only if threads waited for it longer by more than this fraction
/// (1 / `MARGIN`) of the other's wait. Otherwise two similar families would replace each other for
/// ever.
const MARGIN: u64 = 8;
/// The number of slots for families. For a call site, [`PROBES`] of them are tried. If other sites
/// have all of these, the site shares the first of them.
const FAMILIES: usize = 1 << 9;
const PROBES: usize = 8;
/// The number of slots for locks that were waited for. If another lock takes over a lock's slot,
/// the lock may be put into another family at its next wait.
const LOCKS: usize = 1 << 12;
/// The number of low bits of a lock's word that hold the number of its family. The rest have room
/// for an address, which has 47 bits.
const FAMILY_BITS: u32 = 16;

/// A family: a lock, or the locks that are waited for at one call site.
#[derive(Default)]
struct Family {
    /// The call site at which a thread first waited for it; 0 in a free slot.
    site: AtomicU64,
    /// The lock that the thread waited for.
    lock: AtomicU64,
    /// How long threads have waited for the family, in ticks.
    waited: AtomicU64,
    /// How many sections were traced while it was watched.
    traced: AtomicU32,
    /// Whether it is watched, or was watched until it had enough sections.
    is_first: AtomicBool,
}

/// The lock and the call site of a watched family; zeros if there is none.
#[derive(Default)]
struct Watch {
    lock: AtomicU64,
    site: AtomicU64,
}

/// The data that is read at each acquisition that is not passed over.
#[derive(Default)]
#[repr(align(64))]
struct Watches {
    /// The number of watched families.
    number: AtomicU32,
    these: [Watch; WATCHED],
}

/// The waits of a process by family, and the watched families.
pub struct Waits {
    watches: Watches,
    /// The number (index in `families`) of each watched family, plus 1; 0 for none.
    first: [AtomicU32; WATCHED],
    /// A family with a longer wait than this (in ticks) may become a watched one.
    least: AtomicU64,
    /// Whether a thread is changing the watched families. Another thread that wants to change them
    /// does so at a later wait.
    changing: AtomicBool,
    families: [Family; FAMILIES],
    /// Locks, each with the number of its family in the low bits.
    locks: [AtomicU64; LOCKS],
}

fn mixed(number: u64, slots: usize) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - slots.ilog2())) as usize
}

impl Waits {
    /// The state before any thread has waited.
    pub fn none() -> Waits {
        Waits {
            watches: Watches::default(),
            first: Default::default(),
            least: AtomicU64::new(0),
            changing: AtomicBool::new(false),
            families: core::array::from_fn(|_| Family::default()),
            locks: [const { AtomicU64::new(0) }; LOCKS],
        }
    }

    /// Notes that a thread waited this many ticks for a lock at a call site, now or in a recording.
    pub fn waited(&self, lock: u64, site: u64, ticks: u64) {
        let number = self.family_of(lock).unwrap_or_else(|| {
            let number = self.family_at(site);
            let word = (lock << FAMILY_BITS) | number as u64;
            self.locks[mixed(lock, LOCKS)].store(word, Relaxed);
            number
        });
        let family = &self.families[number];
        if family.site.load(Relaxed) == 0 {
            family.lock.store(lock, Relaxed);
            family.site.store(site, Relaxed);
        }
        let waited = family.waited.fetch_add(ticks, Relaxed) + ticks;
        if waited > self.least.load(Relaxed) && !family.is_first.load(Relaxed) {
            self.unless_changing(|| self.promote(number, waited));
        }
    }

    /// Which of the watched families (0 to 2) a lock at a call site belongs to; `None` if it
    /// belongs to none of them.
    #[inline]
    pub fn watch(&self, lock: u64, site: u64) -> Option<usize> {
        if !self.any() {
            return None;
        }
        let is = |w: &Watch| w.lock.load(Relaxed) == lock || w.site.load(Relaxed) == site;
        self.watches.these.iter().position(is)
    }

    /// Whether any family is watched.
    #[inline]
    pub fn any(&self) -> bool {
        self.watches.number.load(Relaxed) > 0
    }

    /// Counts a traced section of a lock at a call site.
    pub fn traced(&self, lock: u64, site: u64) {
        let Some(slot) = self.watch(lock, site) else { return };
        let number = self.first[slot].load(Relaxed) as usize;
        let Some(family) = number.checked_sub(1).map(|n| &self.families[n]) else { return };
        if family.traced.fetch_add(1, Relaxed) + 1 >= ENOUGH {
            self.unless_changing(|| {
                // Checks once more, now that no other thread can change the slot, since by now it
                // may belong to another family.
                if self.first[slot].load(Relaxed) as usize == number {
                    self.first[slot].store(0, Relaxed);
                    self.least.store(0, Relaxed);
                    self.watch_all();
                }
            });
        }
    }

    fn family_of(&self, lock: u64) -> Option<usize> {
        let word = self.locks[mixed(lock, LOCKS)].load(Relaxed);
        let is_it = word != 0 && word >> FAMILY_BITS == lock;
        is_it.then_some(word as usize % (1 << FAMILY_BITS) % FAMILIES)
    }

    fn family_at(&self, site: u64) -> usize {
        let first = mixed(site, FAMILIES);
        let mut slots = (0..PROBES).map(|probe| (first + probe) % FAMILIES);
        let is_its = |slot: &usize| [0, site].contains(&self.families[*slot].site.load(Relaxed));
        slots.find(is_its).unwrap_or(first)
    }

    /// Calls `what`, which only one thread at a time may do, or does nothing if a call is under
    /// way. It must not wait for the other call, which may be on this very thread, interrupted by a
    /// signal handler.
    fn unless_changing(&self, what: impl FnOnce()) {
        // Acquire pairs with the Release below, so that this thread sees the watched families as
        // the last thread left them. Otherwise a family could be watched twice.
        if !self.changing.swap(true, Acquire) {
            what();
            self.changing.store(false, Release);
        }
    }

    /// Makes a family a watched one if fewer than three are watched, or in place of one with a
    /// shorter wait, by the margin of [`MARGIN`].
    fn promote(&self, number: usize, waited: u64) {
        let of = |slot: usize| {
            let number = self.first[slot].load(Relaxed) as usize;
            number.checked_sub(1).map(|number| &self.families[number])
        };
        let waited_for = |slot| of(slot).map_or(0, |family| family.waited.load(Relaxed));
        let least = |slot: &usize| (of(*slot).is_some(), waited_for(*slot));
        let Some(slot) = (0..WATCHED).min_by_key(least) else { return };
        let bound = |slot| waited_for(slot) + waited_for(slot) / MARGIN;
        let family = &self.families[number];
        if !family.is_first.load(Relaxed) && (of(slot).is_none() || waited > bound(slot)) {
            if let Some(other) = of(slot) {
                other.is_first.store(false, Relaxed);
            }
            family.is_first.store(true, Relaxed);
            self.first[slot].store(number as u32 + 1, Relaxed);
            self.watch_all();
        }
        // An empty slot has the bound 0.
        self.least.store((0..WATCHED).map(bound).min().unwrap_or(0), Relaxed);
    }

    /// Publishes the watched families for [`Waits::watch`].
    fn watch_all(&self) {
        let mut number = 0;
        for (first, watch) in self.first.iter().zip(&self.watches.these) {
            let family = (first.load(Relaxed) as usize).checked_sub(1).map(|n| &self.families[n]);
            number += u32::from(family.is_some());
            let (lock, site) = family
                .map_or((0, 0), |family| (family.lock.load(Relaxed), family.site.load(Relaxed)));
            watch.lock.store(lock, Relaxed);
            watch.site.store(site, Relaxed);
        }
        self.watches.number.store(number, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: u64 = 0x40_0000;

    /// The `n`th lock and its call site. The families of these locks have different slots.
    fn lock(n: u64) -> (u64, u64) {
        (0x10_0000 + 64 * n, SITE + 5 * n)
    }

    fn watched(waits: &Waits) -> Vec<u64> {
        (1..20).filter(|&n| waits.watch(lock(n).0, lock(n).1).is_some()).collect()
    }

    fn wait(waits: &Waits, n: u64, ticks: u64) {
        waits.waited(lock(n).0, lock(n).1, ticks);
    }

    #[test]
    fn the_three_most_waited_for_are_watched() {
        let waits = Waits::none();
        assert!(!waits.any() && watched(&waits).is_empty());
        (1..=6).for_each(|n| wait(&waits, n, 100 * n));
        assert_eq!(watched(&waits), [4, 5, 6]);
        // The family of lock 3 has now waited only slightly longer than that of lock 4, which is
        // not enough. Many short waits add up.
        wait(&waits, 3, 120);
        assert_eq!(watched(&waits), [4, 5, 6]);
        (0..10).for_each(|_| wait(&waits, 1, 100));
        assert_eq!(watched(&waits), [1, 5, 6]);
    }

    #[test]
    fn a_lock_with_enough_sections_gives_way_to_the_next() {
        let waits = Waits::none();
        (1..=3).for_each(|n| wait(&waits, n, 100 * n));
        (1..ENOUGH).for_each(|_| waits.traced(lock(2).0, lock(2).1));
        assert_eq!(watched(&waits), [1, 2, 3]);
        waits.traced(lock(2).0, lock(2).1);
        assert_eq!(watched(&waits), [1, 3]);
        wait(&waits, 2, 10_000);
        assert_eq!(watched(&waits), [1, 3]);
        wait(&waits, 4, 1);
        assert_eq!(watched(&waits), [1, 3, 4]);
        let enough = |n| (0..ENOUGH).for_each(|_| waits.traced(lock(n).0, lock(n).1));
        [1, 3, 4].into_iter().for_each(enough);
        assert!(!waits.any());
    }

    /// A lock that is acquired at several sites is one family, and so are the locks that are
    /// acquired at one site.
    #[test]
    fn waits_are_added_up_by_lock_or_by_site() {
        let waits = Waits::none();
        (1..=3).for_each(|n| wait(&waits, n, 100));
        (0..5).for_each(|site| waits.waited(7, SITE + 0x1000 + site, 30));
        assert!(waits.watch(7, 1).is_some(), "at any site");
        let waits = Waits::none();
        (1..=3).for_each(|n| wait(&waits, n, 100));
        (0..50).for_each(|n| waits.waited(0x20_0000 + 64 * n, SITE + 0x2000, 10));
        assert!(waits.watch(0x99_0000, SITE + 0x2000).is_some(), "any lock there");
    }
}
