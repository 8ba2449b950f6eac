//! The cases: requirements of a window's locks, over any checker's memory.
//!
//! Each part protects a plain number. The checkers report unordered accesses to a number, and at
//! the end the numbers must have counted every increment.

use std::sync::Arc;

use syncline::lock::RawSharedLock;
use syncline::memory::{Data, Memory, Pooled};
use syncline::wait::Spin;
use syncline::window::{Global, Part};
use syncline_checkers::{Engine, Loom, Shuttle};

/// The word that guards all parts of a window, correct or broken.
pub trait Whole: Default + Send + Sync + 'static {
    type Memory: Engine;
    fn acquire_all(&self);
    fn release_all(&self);
    fn enter_as_writer(&self);
    fn leave_as_writer(&self);
}

macro_rules! is_whole {
    ($Global:ty, $Memory:ty) => {
        impl $crate::cases::Whole for $Global {
            type Memory = $Memory;
            fn acquire_all(&self) {
                self.acquire_all();
            }
            fn release_all(&self) {
                self.release_all();
            }
            fn enter_as_writer(&self) {
                self.enter_as_writer();
            }
            fn leave_as_writer(&self) {
                self.leave_as_writer();
            }
        }
    };
}
pub(crate) use is_whole;

is_whole! { Global<Spin, Loom>, Loom }
is_whole! { Global<Spin, Shuttle>, Shuttle }

/// Numbers that threads use in turn.
struct Plain<M: Memory, T>(T, [M::Data<u32>; 2]);

// SAFETY: numbers that threads use in turn, which the checkers verify.
unsafe impl<M: Memory, T: Sync> Sync for Plain<M, T> {}
// SAFETY: as above.
unsafe impl<M: Memory, T: Send> Send for Plain<M, T> {}

impl<M: Engine, T> Plain<M, T> {
    fn new(locks: T) -> Arc<Self> {
        Arc::new(Self(locks, [Data::new(0), Data::new(0)]))
    }

    fn increment(&self, at: usize) {
        // SAFETY: it is this thread's turn, which the checkers verify.
        unsafe { self.1[at].with(|number| *number += 1) };
    }

    fn read(&self, at: usize) -> u32 {
        M::read(&self.1[at])
    }
}

/// One writer, and readers of all parts. There is only one writer, since only a part's lock would
/// keep writers apart, and this case has no such lock.
pub fn whole<G: Whole>(writers: usize, readers: usize, rounds: u32) {
    assert_eq!(writers, 1, "writers are kept apart by their part's lock");
    let scene = Plain::<G::Memory, G>::new(G::default());
    let played = Arc::clone(&scene);
    G::Memory::run(writers + readers, move |thread| {
        for _ in 0..rounds {
            if thread < writers {
                played.0.enter_as_writer();
                played.increment(0);
                played.increment(1);
                played.0.leave_as_writer();
            } else {
                played.0.acquire_all();
                assert_eq!(played.read(0), played.read(1), "a writer was inside as well");
                played.0.release_all();
            }
        }
    });
    // No thread is left registered in the word.
    scene.0.enter_as_writer();
    assert_eq!(scene.read(0), rounds);
    scene.0.leave_as_writer();
    scene.0.acquire_all();
    scene.0.release_all();
}

/// Two parts, each with a lock of type `L`. Writers alternate between the parts; readers alternate
/// between one part and all parts.
pub fn parts<L>(writers: usize, readers: usize, rounds: u32)
where
    L: RawSharedLock<Memory: Engine> + 'static,
{
    type Locks<L> = (Global<Spin, <L as syncline::lock::RawLock>::Memory>, [L; 2]);
    let scene = Plain::<L::Memory, Locks<L>>::new(Default::default());
    let played = Arc::clone(&scene);
    L::Memory::run(writers + readers, move |thread| {
        let (global, locks) = &played.0;
        for round in 0..rounds {
            let at = (thread + round as usize) % 2;
            let part = Part { global, lock: &locks[at] };
            if thread < writers {
                let node = Pooled::<L::Node, L::Memory>::new();
                // SAFETY: the node stays until the release.
                unsafe {
                    part.acquire(&node);
                    played.increment(at);
                    part.release(&node);
                }
            } else if round % 2 == 0 {
                global.acquire_all();
                let sum = || played.read(0) + played.read(1);
                assert_eq!(sum(), sum());
                global.release_all();
            } else {
                let node = Pooled::<L::SharedNode, L::Memory>::new();
                // SAFETY: as above.
                unsafe {
                    part.acquire_shared(&node);
                    played.read(at);
                    part.release_shared(&node);
                }
            }
        }
    });
    scene.0.0.enter_as_writer();
    assert_eq!(scene.read(0) + scene.read(1), writers as u32 * rounds);
    scene.0.0.leave_as_writer();
}
