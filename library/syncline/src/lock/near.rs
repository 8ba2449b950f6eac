//! Tests, with threads of several groups, of the locks that prefer near waiters.

use core::time::Duration;
use std::sync::Mutex;
use std::thread;
use std::vec::Vec;

use bytemuck::Zeroable;

use super::{
    Clh, Cohort, CohortMcs, CohortTtasMcs, Hclh, HierarchicalTicket, Hmcs, Mcs, RawLock, Tas,
    Ticket, TimedCohort, TimedHmcs, TimedLock, TimedMcs, TryLock, Ttas,
};
use crate::memory::{Data, Grouped, Memory};
use crate::wait::{Park, Spin, Wait, Yield};

type Counter = <Grouped as Memory>::Data<u64>;

/// The groups of the threads, in the order in which the threads got the lock. A thread of the group
/// `groups[0]` holds the lock while one thread for each further entry begins to wait for the lock,
/// one after another.
fn served<L: RawLock>(groups: &[usize]) -> Vec<usize> {
    let lock = L::default();
    let served = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let node = L::Node::default();
        for (place, &group) in groups.iter().enumerate() {
            let (lock, served) = (&lock, &served);
            let section = move || served.lock().unwrap().push(group);
            if place == 0 {
                Grouped::migrate([group; 3]);
                // SAFETY: the node stays.
                unsafe { lock.acquire(&node) };
                section();
                continue;
            }
            scope.spawn(move || {
                Grouped::migrate([group; 3]);
                let node = L::Node::default();
                // SAFETY: the node is ours, and stays.
                unsafe { lock.acquire(&node) };
                section();
                // SAFETY: we hold it, with this node.
                unsafe { lock.release(&node) };
            });
            // Gives the thread time to join the queue.
            thread::sleep(Duration::from_millis(50));
        }
        // SAFETY: we hold it, with this node.
        unsafe { lock.release(&node) };
    });
    served.into_inner().unwrap()
}

#[test]
fn zeros_are_a_free_lock() {
    fn check<L: RawLock + Zeroable>() {
        let lock = L::zeroed();
        let node = L::Node::default();
        for _ in 0..2 {
            // SAFETY: the node is ours, and stays.
            unsafe {
                lock.acquire(&node);
                lock.release(&node);
            }
        }
    }
    check::<HierarchicalTicket>();
    check::<CohortMcs>();
    check::<CohortTtasMcs>();
    check::<TimedCohort>();
    check::<Hmcs>();
    check::<TimedHmcs>();
    check::<Hclh>();
}

#[test]
fn near_waiters_come_first_but_not_for_ever() {
    let come = [0, 1, 0, 0, 1, 0, 0];
    let near = [0, 0, 0, 1, 1, 0, 0];
    assert_eq!(served::<HierarchicalTicket<Park, Grouped>>(&come), near);
    assert_eq!(served::<CohortMcs<Park, Grouped>>(&come), near);
    assert_eq!(served::<Cohort<TimedMcs<Park, Grouped>, TimedMcs<Park, Grouped>>>(&come), near);
    assert_eq!(served::<Hmcs<Park, Grouped, 5>>(&come), near);
    assert_eq!(served::<Hmcs<Park, Grouped, 1>>(&come), come);
    assert_eq!(served::<TimedHmcs<Park, Grouped, 5>>(&come), near);
    assert_eq!(served::<TimedHmcs<Park, Grouped, 1>>(&come), come);
}

/// Threads of several groups count under a lock. They change their groups from time to time, even
/// while they hold the lock. In every fourth round they call `try_acquire`, and wait for the lock
/// only if that fails.
fn count<L: RawLock>(threads: usize, rounds: usize, try_acquire: fn(&L, &L::Node) -> bool) {
    let lock = L::default();
    let counter = Counter::new(0);
    thread::scope(|scope| {
        for number in 0..threads {
            let (lock, counter) = (&lock, &counter);
            scope.spawn(move || {
                let node = L::Node::default();
                for round in 0..rounds {
                    let group = if round % 16 == 0 { number + round / 16 } else { number };
                    Grouped::migrate([group % 2, group % 4, group % 8]);
                    if !(round % 4 == 3 && try_acquire(lock, &node)) {
                        // SAFETY: the node is ours, and stays.
                        unsafe { lock.acquire(&node) };
                    }
                    // SAFETY: we hold the lock.
                    unsafe { counter.with(|counter| counter.write(counter.read() + 1)) };
                    if round % 8 == 5 {
                        thread::yield_now();
                        Grouped::migrate([number % 3, number % 5, 0]);
                    }
                    // SAFETY: we hold it, with this node.
                    unsafe { lock.release(&node) };
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), (threads * rounds) as u64);
}

fn never<L: RawLock>(_: &L, _: &L::Node) -> bool {
    false
}

fn tried<L: TryLock>(lock: &L, node: &L::Node) -> bool {
    // SAFETY: the node is our caller's, and stays.
    unsafe { lock.try_acquire(node) }
}

/// Waits for the lock for so short a time that many calls give up.
fn timed<L: TimedLock<Memory = Grouped>>(lock: &L, node: &L::Node) -> bool {
    // SAFETY: the node is our caller's, and stays.
    unsafe { lock.acquire_until(node, Grouped::now() + Duration::from_micros(50)) }
}

/// A cohort of sockets, each a cohort of clusters.
type Tree<W> = Cohort<Mcs<W, Grouped>, Cohort<Ticket<W, Grouped>, Mcs<W, Grouped>, 4, 1>, 2>;

/// Clusters of cores, with a cohort of sockets among them.
type Upside<W> = Cohort<Cohort<Clh<W, Grouped>, Mcs<W, Grouped>, 2>, Ticket<W, Grouped>, 4, 1>;

/// A cohort of sockets, each a cohort of clusters, whose waiters can give up.
type TimedTree<W> = Cohort<Ttas<W, Grouped>, TimedGroups<W, 1>, 2>;
/// Clusters of cores, with a cohort of sockets among them, whose waiters can give up.
type TimedUpside<W> = Cohort<TimedGroups<W, 0>, TimedMcs<W, Grouped>, 4, 1>;
/// A cohort of one level, whose waiters can give up.
type TimedGroups<W, const LEVEL: usize> =
    Cohort<TimedMcs<W, Grouped>, TimedMcs<W, Grouped>, 4, LEVEL>;

fn count_all<W: Wait>(threads: usize, rounds: usize) {
    count::<HierarchicalTicket<W, Grouped>>(threads, rounds, tried);
    count::<CohortMcs<W, Grouped>>(threads, rounds, tried);
    count::<CohortTtasMcs<W, Grouped>>(threads, rounds, tried);
    count::<Cohort<Tas<W, Grouped>, Clh<W, Grouped>, 3, 2>>(threads, rounds, never);
    count::<Tree<W>>(threads, rounds, tried);
    count::<Upside<W>>(threads, rounds, never);
    count::<Hmcs<W, Grouped>>(threads, rounds, tried);
    count::<Hmcs<W, Grouped, 1>>(threads, rounds, tried);
    count::<Hmcs<W, Grouped, 5>>(threads, rounds, tried);
    count::<TimedCohort<W, Grouped>>(threads, rounds, timed);
    count::<TimedTree<W>>(threads, rounds, timed);
    count::<TimedUpside<W>>(threads, rounds, timed);
    count::<TimedHmcs<W, Grouped>>(threads, rounds, timed);
    count::<TimedHmcs<W, Grouped, 1>>(threads, rounds, timed);
    count::<TimedHmcs<W, Grouped, 5>>(threads, rounds, timed);
    count::<Hclh<W, Grouped>>(threads, rounds, never);
    count::<Hclh<W, Grouped, 2, 1>>(threads, rounds, never);
}

#[test]
fn spinning() {
    // Few rounds, since each hand-over costs a time slice if a waiter has no processor.
    count_all::<Spin>(2, 20);
}

#[test]
fn yielding() {
    count_all::<Yield>(2, 2000);
    count_all::<Yield>(7, 300);
}

#[test]
fn parking() {
    count_all::<Park>(2, 2000);
    count_all::<Park>(9, 300);
}
