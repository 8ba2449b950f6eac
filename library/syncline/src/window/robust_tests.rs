//! Tests of robust locks in native memory, with threads as ranks. A rank dies at each step at which
//! it can.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32};
use core::time::Duration;
use std::thread;

use super::*;
use crate::lock::{RawLock, RawSharedLock};
use crate::memory::Native;
use crate::wait::Yield;

const RANKS: usize = 4;
const DEAD: usize = 1;
/// The value of an entry while words are being changed.
const MOVING: u32 = 4;
/// The value of an entry while a writer waits for its part.
const COUNTED: u32 = 1;
/// The value of an entry if a writer holds its part.
const HOLDS: u32 = 2;

#[derive(Default)]
struct Words {
    global: Global,
    parts: [BestEffort<true>; RANKS],
    entries: [[AtomicU32; RANKS + 1]; RANKS],
    orphaned: [AtomicU32; RANKS],
    repairer: AtomicU32,
    dead: [AtomicBool; RANKS],
}

impl Table<true, Yield, Native> for Words {
    fn ranks(&self) -> usize {
        RANKS
    }
    fn global(&self) -> &Global {
        &self.global
    }
    fn part(&self, target: usize) -> &BestEffort<true> {
        &self.parts[target]
    }
    fn entry(&self, rank: usize, target: usize) -> &AtomicU32 {
        &self.entries[rank][target]
    }
    fn orphaned(&self, target: usize) -> &AtomicU32 {
        &self.orphaned[target]
    }
    fn repairer(&self) -> &AtomicU32 {
        &self.repairer
    }
    fn lives(&self, rank: usize) -> bool {
        !self.dead[rank].load(SeqCst)
    }
}

type Locks<'a> = Robust<'a, true, Yield, Native, Words>;

impl Words {
    fn of(&self, rank: usize) -> Locks<'_> {
        Robust::new(self, rank)
    }

    /// Takes part 2 for the rank that is going to die, if that needs no waiting. `share` shares the
    /// part.
    fn take(&self) -> bool {
        // SAFETY: the rank holds nothing, and the repair takes back what it takes.
        unsafe { self.of(DEAD).acquire(2, NOW) }
    }

    fn share(&self) -> bool {
        // SAFETY: as in `take`.
        unsafe { self.of(DEAD).acquire_shared(2, NOW) }
    }

    fn die(&self) {
        self.dead[DEAD].store(true, SeqCst);
    }
}

/// A deadline that has passed.
const NOW: Option<Duration> = Some(Duration::ZERO);

/// A state that a rank can leave for part 2 when it dies, and whether the part is then orphaned.
type Left = (fn(&Words), bool);
const LEFT: [Left; 8] = [
    (|words| assert!(words.take()), true),
    (|words| assert!(words.share()), false),
    (|words| words.of(DEAD).acquire_all(), false),
    (
        |words| {
            words.global.enter_as_writer();
            words.entries[DEAD][2].store(COUNTED, Relaxed);
        },
        false,
    ),
    (|words| words.entries[DEAD][2].store(MOVING, Relaxed), false),
    (
        |words| {
            words.entries[DEAD][2].store(MOVING, Relaxed);
            words.global.enter_as_writer();
        },
        false,
    ),
    (
        |words| {
            words.entries[DEAD][2].store(MOVING, Relaxed);
            words.global.enter_as_writer();
            // SAFETY: what is taken is taken back by the repair.
            unsafe { words.parts[2].acquire(&()) };
        },
        false,
    ),
    (
        |words| {
            words.entries[DEAD][2].store(MOVING, Relaxed);
            // SAFETY: what is taken is taken back by the repair.
            unsafe { words.parts[2].acquire_shared(&()) };
        },
        false,
    ),
];

/// Checks that everything is free: for each living rank, each part can be taken and shared, and
/// then all parts can be shared.
fn all_is_free(words: &Words) {
    for rank in (0..RANKS).filter(|rank| *rank != DEAD) {
        let locks = words.of(rank);
        // SAFETY: each part is taken and released in turn.
        unsafe {
            for part in 0..RANKS {
                assert!(locks.acquire(part, NOW), "part {part} is not free");
                locks.release(part);
                assert!(locks.acquire_shared(part, NOW));
                locks.release_shared(part);
            }
        }
        assert!(words.global.try_acquire_all());
        words.global.release_all();
    }
}

#[test]
fn nothing_is_left_of_a_dead_rank() {
    for (number, (leave, orphaned)) in LEFT.into_iter().enumerate() {
        let words = Words::default();
        leave(&words);
        assert!(!words.of(0).repair_after_deaths(), "{number}: nobody has died");
        words.die();
        assert!(words.of(0).repair_after_deaths(), "{number}");
        assert!(!words.of(2).repair_after_deaths(), "{number}: nothing is left to repair");
        assert_eq!(words.of(3).is_orphaned(2), orphaned, "{number}");
        all_is_free(&words);
        words.of(3).make_consistent(2);
        assert!(!words.of(0).is_orphaned(2));
    }
}

#[test]
fn a_repair_takes_nothing_from_the_living() {
    for (leave, _) in LEFT {
        let words = Words::default();
        // SAFETY: what is taken is released below.
        unsafe {
            assert!(words.of(0).acquire_shared(3, NOW) && words.of(2).acquire_shared(3, NOW));
            leave(&words);
            // If all parts are shared, no other rank gets one alone.
            let alone = words.of(0).acquire(1, NOW);
            words.die();
            assert!(words.of(3).repair_after_deaths());
            assert_eq!(words.of(2).acquire(1, NOW), !alone);
            assert!(!words.of(3).acquire(3, NOW) && !words.global.try_acquire_all());
            words.of(if alone { 0 } else { 2 }).release(1);
            words.of(0).release_shared(3);
            assert!(!words.of(3).acquire(3, NOW));
            words.of(2).release_shared(3);
        }
        all_is_free(&words);
    }
}

#[test]
fn who_waits_and_who_shares_all_stay_counted() {
    let words = Words::default();
    assert!(words.share());
    words.global.enter_as_writer();
    words.entries[0][3].store(COUNTED, Relaxed);
    words.die();
    assert!(words.of(3).repair_after_deaths());
    assert!(!words.of(2).try_acquire_all());
    words.global.leave_as_writer();
    words.entries[0][3].store(0, Relaxed);

    words.dead[DEAD].store(false, SeqCst);
    assert!(words.share());
    assert!(words.of(2).try_acquire_all());
    words.die();
    assert!(words.of(3).repair_after_deaths());
    // SAFETY: it is not taken.
    assert!(!unsafe { words.of(0).acquire(1, NOW) });
    words.of(2).release_all();
    all_is_free(&words);
}

#[test]
fn a_repair_waits_for_whoever_is_moving() {
    let words = Words::default();
    // SAFETY: it dies.
    assert!(unsafe { words.of(DEAD).acquire_shared(3, NOW) });
    // Rank 0 has taken part 2, and not yet noted that in its entry.
    words.entries[0][2].store(MOVING, SeqCst);
    words.global.enter_as_writer();
    // SAFETY: it is released below.
    unsafe { words.parts[2].acquire(&()) };
    words.die();
    thread::scope(|scope| {
        let repair = scope.spawn(|| words.of(3).repair_after_deaths());
        while words.repairer.load(SeqCst) == 0 && !repair.is_finished() {
            thread::yield_now();
        }
        // A repair that wrongly does not wait has the time to go wrong.
        thread::sleep(Duration::from_millis(20));
        words.entries[0][2].store(HOLDS, SeqCst);
        assert!(repair.join().is_ok_and(|repaired| repaired));
    });
    // SAFETY: rank 2 gets nothing, and rank 0 holds the part.
    unsafe {
        assert!(!words.of(2).acquire(2, NOW));
        words.of(0).release(2);
    }
    all_is_free(&words);
}

#[test]
fn who_waits_for_long_asks_by_itself() {
    let words = Words::default();
    assert!(words.take());
    words.die();
    // SAFETY: it releases what it gets.
    unsafe {
        assert!(words.of(0).acquire(2, None));
        words.of(0).release(2);
    }
    all_is_free(&words);
}

#[test]
fn another_repairs_where_the_repairer_dies() {
    let words = Words::default();
    assert!(words.take());
    words.repairer.store(DEAD as u32 + 1, SeqCst);
    // SAFETY: nothing is taken while a rank repairs.
    assert!(!unsafe { words.of(0).acquire(0, NOW) });
    words.die();
    assert!(words.of(0).repair_after_deaths());
    assert!(words.of(0).is_orphaned(2));
    all_is_free(&words);
}

/// Two ranks add under a part's lock, and share the part and all parts in between. A third rank
/// dies again and again; ranks that wait repair what it has left, and so does a fourth rank, which
/// does nothing else.
#[test]
fn sums_are_exact_beside_deaths() {
    struct Shared(Words, UnsafeCell<u64>);
    // SAFETY: the cell is used under the lock of part 2 alone.
    unsafe impl Sync for Shared {}
    let rounds = if cfg!(miri) { 10 } else { 3_000 };
    let shared = Shared(Words::default(), UnsafeCell::new(0));
    let (shared, done) = (&shared, &AtomicU32::new(0));
    thread::scope(|scope| {
        for rank in [0, 2] {
            scope.spawn(move || {
                let locks = shared.0.of(rank);
                for round in 0..rounds {
                    // SAFETY: each is released; the cell is under the lock.
                    unsafe {
                        assert!(locks.acquire(2, None));
                        *shared.1.get() += 1;
                        locks.release(2);
                        if round % 8 == 0 {
                            locks.acquire_all();
                            locks.release_all();
                        }
                        assert!(locks.acquire_shared(2, None));
                        locks.release_shared(2);
                    }
                }
                done.fetch_add(1, SeqCst);
            });
        }
        scope.spawn(|| {
            let words = &shared.0;
            let mut turn = 0;
            while done.load(SeqCst) < 2 {
                // The rank lives again, as if another process had taken its place.
                words.dead[DEAD].store(false, SeqCst);
                turn += 1;
                let has = match turn % 3 {
                    0 => words.take(),
                    1 => words.share(),
                    _ => words.of(DEAD).try_acquire_all(),
                };
                words.die();
                while has && words.entries[DEAD].iter().any(|entry| entry.load(SeqCst) != 0) {
                    words.of(3).repair_after_deaths();
                }
            }
        });
    });
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { *shared.1.get() }, 2 * rounds);
    all_is_free(&shared.0);
}
