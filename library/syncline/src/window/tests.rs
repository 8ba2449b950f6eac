//! A window of two parts in native memory, used by threads.

use core::cell::UnsafeCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use super::*;
use crate::lock::{FairRw, RawLock, ReadersFirst, WritersFirst};
use crate::memory::Native;
use crate::wait::Yield;

const ROUNDS: u64 = if cfg!(miri) { 10 } else { 2_000 };

/// Two parts, and the numbers that they protect.
struct Window<L> {
    global: Global,
    parts: [(L, UnsafeCell<u64>); 2],
}

// SAFETY: the cells are used only while the window's locks are held.
unsafe impl<L: Sync> Sync for Window<L> {}

impl<L: RawSharedLock<Memory = Native>> Window<L> {
    fn part(&self, at: usize) -> Part<'_, Yield, L> {
        Part { global: &self.global, lock: &self.parts[at].0 }
    }

    fn sum(&self, at: usize) -> *mut u64 {
        self.parts[at].1.get()
    }
}

/// Each of two writers adds to the two parts alternately. Meanwhile, one reader reads one part, and
/// another one reads both.
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
                    // SAFETY: the node stays here until its release; the lock protects the cell.
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
                // SAFETY: no rank writes to any part while all are shared.
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

/// Two hosts, each with several threads: the lock between the hosts, one writer's node per host for
/// that lock, and each host's local lock.
#[derive(Default)]
struct Hosts {
    between: FairRw<Yield>,
    nodes: [<FairRw<Yield> as RawLock>::Node; 2],
    locals: [(FairRw<Yield>, Hold); 2],
    /// How often the lock between hosts was taken exclusively.
    taken: AtomicU64,
    sum: UnsafeCell<u64>,
}

// SAFETY: the cell and the nodes are used only while the locks are held.
unsafe impl Sync for Hosts {}

/// A thread of a host, with the node that it uses as a reader.
struct OfHost<'a>(&'a Hosts, usize, <FairRw<Yield> as RawSharedLock>::SharedNode);

impl Between for OfHost<'_> {
    type Refusal = ();

    fn acquire(&self, exclusive: bool) -> Result<(), ()> {
        // SAFETY: at most one thread of a host acquires the lock exclusively at a time, a thread
        // has at most one share of it at a time, and the nodes stay until the releases.
        unsafe {
            if exclusive {
                self.0.between.acquire(&self.0.nodes[self.1]);
                self.0.taken.fetch_add(1, Relaxed);
            } else {
                self.0.between.acquire_shared(&self.2);
            }
        }
        Ok(())
    }

    fn release(&self, exclusive: bool) {
        // SAFETY: the host holds the lock exclusively, or the thread has a share of it.
        unsafe {
            if exclusive {
                self.0.between.release(&self.0.nodes[self.1]);
            } else {
                self.0.between.release_shared(&self.2);
            }
        }
    }
}

impl Hosts {
    fn lock(&self, host: usize) -> Hierarchical<'_, Yield, FairRw<Yield>, OfHost<'_>> {
        let (local, hold) = &self.locals[host];
        Hierarchical { local, hold, between: OfHost(self, host, Default::default()) }
    }
}

#[test]
fn two_hosts_keep_apart_and_leave_nothing_behind() {
    let hosts = &Hosts::default();
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let lock = hosts.lock(thread % 2);
                    let (alone, shared) = Default::default();
                    // SAFETY: the nodes stay here until their release; the lock protects the cell.
                    unsafe {
                        lock.acquire(&alone).unwrap();
                        *hosts.sum.get() += 1;
                        lock.release(&alone);
                        lock.acquire_shared(&shared).unwrap();
                        let before = hosts.sum.get().read_volatile();
                        assert_eq!(before, hosts.sum.get().read_volatile());
                        lock.release_shared(&shared);
                    }
                }
            });
        }
    });
    // SAFETY: all threads have ended.
    assert_eq!(unsafe { *hosts.sum.get() }, 4 * ROUNDS);
    // Neither host still holds the lock between hosts: either the last writer had no waiter in its
    // host to hand the lock over to, and released it, or a reader has released it.
    for host in [0, 1, 0] {
        let before = hosts.taken.load(Relaxed);
        let (lock, alone) = (hosts.lock(host), Default::default());
        // SAFETY: as above.
        unsafe {
            lock.acquire(&alone).unwrap();
            lock.release(&alone);
        }
        assert_eq!(hosts.taken.load(Relaxed), before + 1, "host {host} had kept it");
    }
}

/// If a writer has left the lock between hosts to its host, the host's next reader lets readers of
/// other hosts in.
#[test]
fn what_is_left_to_a_reader_keeps_no_other_host_out() {
    let hosts = &Hosts::default();
    let (writer, alone) = (hosts.lock(0), Default::default());
    let inside = &AtomicU64::new(0);
    thread::scope(|scope| {
        // SAFETY: the nodes stay until their releases.
        unsafe { writer.acquire(&alone).unwrap() };
        for host in [0, 1] {
            scope.spawn(move || {
                let (lock, node) = (hosts.lock(host), Default::default());
                // SAFETY: as above.
                unsafe {
                    lock.acquire_shared(&node).unwrap();
                    inside.fetch_add(1, Relaxed);
                    // Waits until the other reader is inside as well.
                    while inside.load(Relaxed) < 2 {
                        thread::yield_now();
                    }
                    lock.release_shared(&node);
                }
            });
        }
        while !hosts.locals[0].1.is_waited_for() {
            thread::yield_now();
        }
        // SAFETY: as above.
        unsafe { writer.release(&alone) };
    });
}
