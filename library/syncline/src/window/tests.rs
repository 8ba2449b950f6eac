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

/// What a host queues with between the hosts, as a writer and as a reader.
type OfHost = (<FairRw<Yield> as RawLock>::Node, <FairRw<Yield> as RawSharedLock>::SharedNode);

/// The lock between two hosts of threads, with a node for each host.
struct Hosts {
    between: FairRw<Yield>,
    nodes: [OfHost; 2],
    locals: [(FairRw<Yield>, Hold); 2],
    /// How often the lock between hosts was acquired.
    acquired: AtomicU64,
    sum: UnsafeCell<u64>,
}

// SAFETY: the cell and the nodes are used under the locks.
unsafe impl Sync for Hosts {}

struct OfHost<'a>(&'a Hosts, usize);

impl Between for OfHost<'_> {
    type Refusal = ();

    fn acquire(&self, exclusive: bool) -> Result<(), ()> {
        let (alone, shared) = &self.0.nodes[self.1];
        // SAFETY: a host has the lock once at a time, and the nodes stay.
        unsafe {
            if exclusive {
                self.0.between.acquire(alone);
            } else {
                self.0.between.acquire_shared(shared);
            }
        }
        self.0.acquired.fetch_add(1, Relaxed);
        Ok(())
    }

    fn release(&self, exclusive: bool) {
        let (alone, shared) = &self.0.nodes[self.1];
        // SAFETY: the host has it so.
        unsafe {
            if exclusive {
                self.0.between.release(alone);
            } else {
                self.0.between.release_shared(shared);
            }
        }
    }
}

#[test]
fn two_hosts_keep_apart_and_leave_nothing_behind() {
    let cell = || (FairRw::default(), Hold::default());
    let hosts = Hosts {
        between: FairRw::default(),
        nodes: Default::default(),
        locals: [cell(), cell()],
        acquired: AtomicU64::new(0),
        sum: UnsafeCell::new(0),
    };
    let hosts = &hosts;
    let lock = |host: usize| Hierarchical {
        local: &hosts.locals[host].0,
        hold: &hosts.locals[host].1,
        between: OfHost(hosts, host),
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let lock = lock(thread % 2);
                for _ in 0..ROUNDS {
                    let (alone, shared) = Default::default();
                    // SAFETY: the nodes stay here until their release; the cell is under the lock.
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
    assert!(hosts.acquired.load(Relaxed) <= 8 * ROUNDS);
    // Neither host has kept anything.
    for host in [0, 1, 0] {
        let before = hosts.acquired.load(Relaxed);
        let alone = Default::default();
        // SAFETY: as above.
        unsafe {
            lock(host).acquire(&alone).unwrap();
            lock(host).release(&alone);
        }
        assert_eq!(hosts.acquired.load(Relaxed), before + 1, "host {host} had kept it");
    }
}

/// One host's readers follow each other without a gap; a writer of another one gets its turn.
#[test]
fn readers_of_a_host_do_not_keep_other_hosts_out() {
    let cell = || (FairRw::default(), Hold::default());
    let hosts = Hosts {
        between: FairRw::default(),
        nodes: Default::default(),
        locals: [cell(), cell()],
        acquired: AtomicU64::new(0),
        sum: UnsafeCell::new(0),
    };
    let hosts = &hosts;
    let lock = |host: usize| Hierarchical {
        local: &hosts.locals[host].0,
        hold: &hosts.locals[host].1,
        between: OfHost(hosts, host),
    };
    let inside = &AtomicU64::new(0);
    let written = &AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                while written.load(Relaxed) == 0 {
                    let node = Default::default();
                    // SAFETY: the node stays here until its release.
                    unsafe {
                        lock(0).acquire_shared(&node).unwrap();
                        inside.fetch_add(1, Relaxed);
                        // The other one comes in before this one leaves, if it can.
                        for _ in 0..200 {
                            if inside.load(Relaxed) > 1 {
                                break;
                            }
                            thread::yield_now();
                        }
                        inside.fetch_sub(1, Relaxed);
                        lock(0).release_shared(&node);
                    }
                }
            });
        }
        let node = Default::default();
        // SAFETY: as above.
        unsafe {
            lock(1).acquire(&node).unwrap();
            lock(1).release(&node);
        }
        written.store(1, Relaxed);
    });
}
