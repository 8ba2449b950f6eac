//! The locks that threads wait for, which get the budget first.
//!
//! Randomly chosen sections mostly belong to locks that are acquired often, not to those that cost
//! time: the contended lock of a server may have one acquisition in ten, and less than one in a
//! thousand of the cheap sections. So waits are summed as they happen, by family: a lock, or the
//! locks that threads wait for at one call site, grouped as in a report. The three most waited for
//! are *watched* until [`ENOUGH`] of their sections are traced, and then make room for the next
//! family. Watched families come before all others, which leave a part of the budget unused
//! meanwhile ([`Waits::any`]).
//!
//! Only families are chosen in this way. A family's acquisitions are drawn at random, whether or
//! not they waited (`call::choose`), so the results for a lock hold for all its sections.
//!
//! Waits are summed by threads that have just waited, which took microseconds anyway, and traced
//! sections are counted when they begin. Other acquisitions only read [`Waits::watch`], a cache line
//! that rarely changes.
//!
//! All values are hints: nothing depends on the order in which other threads see them. So accesses
//! are relaxed, except those to the flag of the thread that changes the three.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// The number of families that are watched at a time.
pub const WATCHED: usize = 3;
/// The number of sections of a family that is enough. A report needs 200 (`syncline_conflicts`),
/// and some of the traced sections can't be compared.
pub const ENOUGH: u32 = 256;
/// A family replaces a watched one only if its waiting is more by over 1 / `MARGIN` of the other's,
/// so that two similar families don't replace each other for ever.
const MARGIN: u64 = 8;
/// The number of slots for families, and how many of them are tried for a call site. If other sites
/// have all of these, the site shares the first.
const FAMILIES: usize = 1 << 9;
const PROBES: usize = 8;
/// The number of slots for locks that were waited for. A lock that loses its slot may be put into
/// another family next time.
const LOCKS: usize = 1 << 12;
/// Bits of a lock's word that name its family. Addresses have 47 bits.
const FAMILY_BITS: u32 = 16;

/// A lock, or the locks that are waited for at one call site.
#[derive(Default)]
struct Family {
    /// The call site where it was waited for first; 0 if it never was.
    site: AtomicU64,
    /// The lock that was waited for there.
    lock: AtomicU64,
    /// The ticks that threads waited for it.
    waited: AtomicU64,
    /// Sections that were traced while it was watched.
    traced: AtomicU32,
    /// Whether it is one of the three, or was one until it had enough sections.
    is_first: AtomicBool,
}

/// The lock and call site of one of the three; zeros if there is none.
#[derive(Default)]
struct Watch {
    lock: AtomicU64,
    site: AtomicU64,
}

/// The data that is read at each sampled acquisition.
#[derive(Default)]
#[repr(align(64))]
struct Watches {
    /// How many families are watched.
    number: AtomicU32,
    these: [Watch; WATCHED],
}

/// See the top of this file.
pub struct Waits {
    watches: Watches,
    /// The number of each of the three families, plus 1; 0 for none.
    first: [AtomicU32; WATCHED],
    /// A family with more waiting than this may become one of the three.
    least: AtomicU64,
    /// Whether a thread is changing the three. Another thread that would change them does so at a
    /// later wait.
    changing: AtomicBool,
    families: [Family; FAMILIES],
    /// Locks, each with its family.
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
            self.alone(|| self.promote(number, waited));
        }
    }

    /// The number, among the three, of the watched family that a lock at a call site belongs to;
    /// `None` if it is not watched.
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

    /// Counts a section of a lock at a call site that is traced.
    pub fn traced(&self, lock: u64, site: u64) {
        let Some(slot) = self.watch(lock, site) else { return };
        let number = self.first[slot].load(Relaxed) as usize;
        let Some(family) = number.checked_sub(1).map(|n| &self.families[n]) else { return };
        if family.traced.fetch_add(1, Relaxed) + 1 >= ENOUGH {
            self.alone(|| {
                // Checks again, now that no other thread changes the slot: another family may have
                // it by now.
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

    /// Does work that one thread at a time may do, or nothing if a thread is doing it. It does not
    /// wait for that thread, which may be this very one, interrupted by a signal handler.
    fn alone(&self, what: impl FnOnce()) {
        // Acquire pairs with the Release below: this thread sees the three as the last one left
        // them. Otherwise a family could be among them twice.
        if !self.changing.swap(true, Acquire) {
            what();
            self.changing.store(false, Release);
        }
    }

    /// Makes a family one of the three if fewer than three are watched, or if it is waited for more
    /// than one of them, by over 1 / [`MARGIN`].
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
        // While there is room for another family, the bound is 0.
        self.least.store((0..WATCHED).map(bound).min().unwrap_or(0), Relaxed);
    }

    /// Publishes the three for [`Waits::watch`].
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

    /// A lock whose family has a slot of its own, as most have.
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
        // A slightly longer wait is not enough; the sum of many waits counts.
        wait(&waits, 3, 120);
        assert_eq!(watched(&waits), [4, 5, 6]);
        (0..10).for_each(|_| wait(&waits, 1, 100));
        assert_eq!(watched(&waits), [1, 5, 6]);
    }

    #[test]
    fn who_has_enough_sections_makes_room_for_the_next() {
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

    /// A lock that is taken at several sites is one family, and so are many locks of one site.
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
