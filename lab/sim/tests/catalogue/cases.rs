//! Test cases for the requirements of a lock.

use std::time::Duration;

use syncline::lock::{RawLock, TimedLock, TryLock};
use syncline_sim::engine;
use syncline_sim::{Machine, Simulated};

use crate::scene::Scene;

/// Cycles from the arrival of one thread to that of the next: enough for a thread to queue up or to
/// fall asleep.
pub const GAP: u64 = 50_000;

/// A number of cycles for a thread and a round, which looks random but is the same in each run.
fn pseudo_random_cycles(thread: usize, round: u64) -> u64 {
    let mixed = (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round << 17;
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) % 400
}

/// Threads acquire the lock repeatedly, on machines of each kind: with sockets, with several
/// threads for each cache, with a mesh, with clusters of cores, and with registers as the only
/// atomic operations. No two threads may hold the lock at the same time.
pub fn exclusion<L: RawLock<Memory = Simulated>>() {
    const ROUNDS: u64 = 20;
    let apart = |every: usize, count| (0..count).map(move |n| n * every).collect::<Vec<_>>();
    for (name, places) in [
        ("xeon", apart(6, 13)),
        ("opteron", apart(4, 12)),
        ("niagara", apart(3, 12)),
        ("tilera", apart(5, 7)),
        ("clusters", apart(9, 14)),
        ("scc", apart(7, 6)),
    ] {
        let machine = Machine::named(name).unwrap();
        let scene = Scene::<L>::play(&machine, &places, |scene, thread| {
            for round in 0..ROUNDS {
                scene.exclusively(pseudo_random_cycles(thread, round));
                engine::delay(pseudo_random_cycles(thread, round + ROUNDS));
            }
        });
        assert_eq!(u64::from(scene.sections.get()), ROUNDS * places.len() as u64);
    }
}

/// A machine with time slices that are only as long as a few sections.
pub fn with_short_slices() -> Machine {
    let mut description = Machine::named("xeon").unwrap().description;
    description.scheduler.slice = 5e-6;
    Machine::new(description).unwrap()
}

/// There are more threads than processors, so holders are preempted, and so are the waiters whose
/// turn is next.
pub fn crowded<L: RawLock<Memory = Simulated>>() {
    const ROUNDS: u64 = 12;
    let machine = with_short_slices();
    let places: Vec<usize> = (0..9).map(|thread| thread % 3 * 10).collect();
    let scene = Scene::<L>::play(&machine, &places, |scene, thread| {
        for round in 0..ROUNDS {
            scene.exclusively(10 * pseudo_random_cycles(thread, round));
            engine::delay(pseudo_random_cycles(thread, round + ROUNDS));
        }
    });
    assert_eq!(u64::from(scene.sections.get()), ROUNDS * places.len() as u64);
}

/// A try fails on a held lock, and succeeds on a free one.
pub fn tries<L: TryLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    let scene = Scene::<L>::play(&machine, &[0, 7, 20], |scene, thread| match thread {
        0 => scene.exclusively(2 * GAP),
        1 => {
            engine::delay(GAP);
            assert!(!scene.if_free(500), "a held lock was taken");
            engine::delay(2 * GAP);
            assert!(scene.if_free(500), "a free lock was refused");
        }
        _ => {
            let taken = (0..100).filter(|&round| {
                engine::delay(pseudo_random_cycles(thread, round));
                scene.if_free(100)
            });
            assert!(taken.count() < 100);
        }
    });
    assert!(scene.sections.get() >= 2);
}

/// A thread that has waited until its deadline gives up soon after it, and does not impede the
/// others.
pub fn timed<L: TimedLock<Memory = Simulated>>() {
    let machine = Machine::named("xeon").unwrap();
    let cycles = |cycles: u64| Duration::from_secs_f64(cycles as f64 / machine.description.hertz);
    let scene = Scene::<L>::play(&machine, &[0, 10, 20, 30], |scene, thread| {
        engine::delay(thread as u64 * GAP);
        match thread {
            0 => scene.exclusively(20 * GAP),
            // This thread gives up its position in the queue, which is in front of the thread that
            // waits without a deadline.
            1 => {
                assert!(!scene.within(cycles(6 * GAP)), "had a lock that is held");
                let now = engine::now();
                assert!((7 * GAP..9 * GAP).contains(&now), "left at {now}, asked for {}", 7 * GAP);
            }
            2 => scene.exclusively(500),
            _ => assert!(scene.within(cycles(100 * GAP)), "left before its deadline"),
        }
    });
    assert_eq!(scene.sections.get(), 3);
}

/// Threads that arrive one after another while the lock is held acquire it in the order of their
/// arrival.
pub fn fifo<L: RawLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    let places = [0, 40, 7, 33, 1, 22, 13];
    assert_eq!(arrivals::<L>(&machine, &places), [0, 1, 2, 3, 4, 5, 6]);
}

/// Like [`fifo`], but only threads of the same group of near processors must acquire the lock in
/// this order.
pub fn near<L: RawLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    let order = arrivals::<L>(&machine, &[0, 8, 1, 7, 3, 10, 2]);
    let of = |group| order.iter().copied().filter(|n| n % 2 == group).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (vec![0, 2, 4, 6], vec![1, 3, 5]), "{order:?}");
}

/// The numbers of threads that arrive one after another, in the order in which they acquire the
/// lock.
fn arrivals<L: RawLock<Memory = Simulated>>(machine: &Machine, places: &[usize]) -> Vec<usize> {
    let threads = places.len();
    let scene = Scene::<L>::play(machine, places, |scene, thread| {
        if thread == 0 {
            scene.order.borrow_mut().push(0);
            scene.exclusively((threads + 1) as u64 * GAP);
        } else {
            engine::delay(thread as u64 * GAP);
            scene.in_order(thread);
        }
    });
    scene.order.into_inner()
}
