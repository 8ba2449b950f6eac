//! Test cases for the requirements of a lock.

use std::time::Duration;

use syncline::lock::{RawLock, TimedLock, TryLock};
use syncline_sim::engine;
use syncline_sim::{Machine, Simulated};

use crate::scene::Scene;

/// Cycles from one thread's arrival to the next: enough for a thread to queue up or to fall asleep.
pub const GAP: u64 = 50_000;

/// A number of cycles that looks random but is the same in each run, by thread and round.
fn pseudo_random_cycles(thread: usize, round: u64) -> u64 {
    let mixed = (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round << 17;
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) % 400
}

/// Threads acquire the lock repeatedly, on machines of each kind: with separate sockets, with
/// threads in one cache, with compare-and-swap only, and with registers only. No two may hold the
/// lock.
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

/// A machine whose time slices are as long as a few sections.
pub fn with_short_slices() -> Machine {
    let mut description = Machine::named("xeon").unwrap().description;
    description.scheduler.slice = 5e-6;
    Machine::new(description).unwrap()
}

/// There are more threads than processors, so holders are preempted, and so are the next waiters.
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

/// A thread that has waited until its deadline leaves soon after it, and does not harm others.
pub fn timed<L: TimedLock<Memory = Simulated>>() {
    let machine = Machine::named("xeon").unwrap();
    let cycles = |cycles: u64| Duration::from_secs_f64(cycles as f64 / machine.description.hertz);
    let scene = Scene::<L>::play(&machine, &[0, 10, 20, 30], |scene, thread| {
        engine::delay(thread as u64 * GAP);
        match thread {
            0 => scene.exclusively(20 * GAP),
            // This thread gives up a position in the queue before the thread that waits without a
            // deadline.
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

/// Threads that arrive one after another while the lock is held acquire it in this order.
pub fn fifo<L: RawLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    let places = [0, 40, 7, 33, 1, 22, 13];
    assert_eq!(arrivals::<L>(&machine, &places), [0, 1, 2, 3, 4, 5, 6]);
}

/// Like [`fifo`], but the order must hold only among threads of the same group of near processors.
pub fn near<L: RawLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    let order = arrivals::<L>(&machine, &[0, 8, 1, 7, 3, 10, 2]);
    let of = |group| order.iter().copied().filter(|n| n % 2 == group).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (vec![0, 2, 4, 6], vec![1, 3, 5]), "{order:?}");
}

/// The order in which threads that arrive one by one acquire the lock.
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
