//! A window of two parts in native memory, used by threads.

use core::cell::UnsafeCell;
use std::thread;

use super::*;
use crate::lock::{FairRw, ReadersFirst, WritersFirst};
use crate::memory::Native;
use crate::wait::Yield;

const ROUNDS: u64 = if cfg!(miri) { 10 } else { 2_000 };

/// Two parts and what they protect.
struct Window<L> {
    global: Global,
    parts: [(L, UnsafeCell<u64>); 2],
}

// SAFETY: the cells are used under the window's locks alone.
unsafe impl<L: Sync> Sync for Window<L> {}

impl<L: RawSharedLock<Memory = Native>> Window<L> {
    fn part(&self, at: usize) -> Part<'_, Yield, L> {
        Part { global: &self.global, lock: &self.parts[at].0 }
    }

    fn sum(&self, at: usize) -> *mut u64 {
        self.parts[at].1.get()
    }
}

/// Two writers add to both parts; a reader of one part and a reader of all look on.
fn sums_are_exact<L: RawSharedLock<Memory = Native>>() {
    let cell = || (L::default(), UnsafeCell::new(0));
    let window = Window { global: Global::default(), parts: [cell(), cell()] };
    let (part, sum) = (|at| window.part(at), |at| window.sum(at));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let at = (round % 2) as usize;
                    let node = L::Node::default();
                    // SAFETY: the node stays here until its release; the cell is under the lock.
                    unsafe {
                        part(at).acquire(&node);
                        *sum(at) += 1;
                        part(at).release(&node);
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                let node = L::SharedNode::default();
                // SAFETY: as above, and the cell is only read.
                unsafe {
                    part(0).acquire_shared(&node);
                    let before = sum(0).read_volatile();
                    assert_eq!(before, sum(0).read_volatile());
                    part(0).release_shared(&node);
                }
            }
        });
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                window.global.acquire_all();
                // SAFETY: nobody writes to any part while all are shared.
                let read = || unsafe { sum(0).read_volatile() + sum(1).read_volatile() };
                assert_eq!(read(), read());
                window.global.release_all();
            }
        });
    });
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { *sum(0) + *sum(1) }, 2 * ROUNDS);
}

#[test]
fn best_effort() {
    sums_are_exact::<BestEffort<false>>();
    sums_are_exact::<BestEffort<true>>();
}

#[test]
fn queue_locks() {
    sums_are_exact::<WritersFirst<Yield>>();
    sums_are_exact::<ReadersFirst<Yield>>();
    sums_are_exact::<FairRw<Yield>>();
}
