//! Test cases for the requirements of a shared lock.

use std::cell::Cell;
use std::time::Duration;

use syncline::lock::{RawSharedLock, TimedSharedLock, TrySharedLock};
use syncline::memory::{Memory, Padded};
use syncline_sim::engine;
use syncline_sim::{Machine, Simulated};

use crate::cases::{GAP, with_short_slices};
use crate::scene::Scene;

/// Readers and writers use the lock, first on separate processors, then with three threads on each.
pub fn sharing<L: RawSharedLock<Memory = Simulated>>() {
    let xeon = Machine::named("xeon").unwrap();
    let apart: Vec<usize> = (0..9).map(|thread| 8 * thread).collect();
    let crowded: Vec<usize> = (0..9).map(|thread| thread % 3).collect();
    for (machine, places) in [(&xeon, apart), (&with_short_slices(), crowded)] {
        let scene = Scene::<L>::play(machine, &places, |scene, thread| {
            for round in 0..12 {
                if thread < 3 {
                    scene.exclusively(300);
                } else {
                    scene.shared(|| engine::delay(200));
                }
                engine::delay(100 * ((thread as u64 + round) % 7));
            }
        });
        assert_eq!(scene.sections.get(), 3 * 12);
    }
}

/// Readers hold the lock at the same time: while each is inside, it sees all the others there.
pub fn together<L: RawSharedLock<Memory = Simulated>>() {
    let machine = Machine::named("opteron").unwrap();
    Scene::<L>::play(&machine, &[0, 6, 12, 18], |scene, _| {
        scene.shared(|| {
            let most = Cell::new(0);
            for _ in 0..100 {
                most.set(most.get().max(scene.readers.get()));
                engine::delay(1_000);
            }
            assert_eq!(most.get(), 4, "readers wait for each other");
        });
    });
}

/// A try to acquire the lock as a reader fails while a writer is inside, and succeeds while a
/// reader is inside.
pub fn tries<L: TrySharedLock<Memory = Simulated>>() {
    let machine = Machine::named("xeon").unwrap();
    let once = |scene: &Scene<L>| {
        let node = Padded::<L::SharedNode>::default();
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = scene.lock.try_acquire_shared(&node);
            if taken {
                scene.look(|| engine::delay(100));
                scene.lock.release_shared(&node);
            }
            taken
        }
    };
    Scene::<L>::play(&machine, &[0, 10], |scene, thread| {
        if thread == 0 {
            scene.exclusively(2 * GAP);
            scene.shared(|| engine::delay(2 * GAP));
        } else {
            engine::delay(GAP);
            assert!(!once(scene), "shared with a writer");
            engine::delay(2 * GAP);
            assert!(once(scene), "not shared with a reader");
        }
    });
}

/// A reader gives up at its deadline. With a later deadline, it acquires the lock when the lock is
/// released.
pub fn timed<L: TimedSharedLock<Memory = Simulated>>() {
    let machine = Machine::named("xeon").unwrap();
    let within = |scene: &Scene<L>, cycles: u64| {
        let node = Padded::<L::SharedNode>::default();
        let patience = Duration::from_secs_f64(cycles as f64 / machine.description.hertz);
        // SAFETY: the node stays until the release.
        unsafe {
            let taken = scene.lock.acquire_shared_until(&node, Simulated::now() + patience);
            if taken {
                scene.look(|| engine::delay(100));
                scene.lock.release_shared(&node);
            }
            taken
        }
    };
    Scene::<L>::play(&machine, &[0, 10], |scene, thread| {
        if thread == 0 {
            scene.exclusively(10 * GAP);
        } else {
            engine::delay(GAP);
            assert!(!within(scene, 2 * GAP), "shared with a writer");
            assert!(engine::now() < 6 * GAP, "left late");
            assert!(within(scene, 100 * GAP), "left early");
        }
    });
}
