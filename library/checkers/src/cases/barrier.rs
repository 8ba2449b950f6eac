//! The cases of a barrier.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use syncline::Barrier;
use syncline::memory::{Data, Memory};

use crate::engine::Engine;

/// A barrier, correct or broken.
pub trait Meeting: From<usize> + Send + Sync + 'static {
    /// Waits for all threads, and returns whether this one is the leader.
    fn meet(&self) -> bool;
}

/// Implements `Meeting` for a type with this method.
#[macro_export]
macro_rules! meeting {
    ($Barrier:ident) => {
        impl<M: syncline::memory::Memory> $crate::cases::barrier::Meeting for $Barrier<M> {
            fn meet(&self) -> bool {
                self.wait().is_leader()
            }
        }
    };
}

meeting!(Barrier);

/// A barrier, and what each thread has written for the others to read.
struct Scene<M: Memory, B> {
    barrier: B,
    written: Vec<M::Data<usize>>,
    /// How often a thread was the leader of a meeting. The checkers need not see this count, so it
    /// is an ordinary atomic.
    leaders: AtomicUsize,
}

// SAFETY: a barrier and numbers, which may be shared between threads.
unsafe impl<M: Memory, B: Sync> Sync for Scene<M, B> {}
// SAFETY: as above.
unsafe impl<M: Memory, B: Send> Send for Scene<M, B> {}

impl<M: Engine, B: Meeting> Scene<M, B> {
    fn run(of: usize, threads: usize, act: impl Fn(&Self, usize) + Send + Sync + 'static) -> usize {
        let written = (0..threads).map(|_| Data::new(0)).collect();
        let scene = Arc::new(Self { barrier: of.into(), written, leaders: AtomicUsize::new(0) });
        let shared = Arc::clone(&scene);
        M::run(threads, move |thread| act(&shared, thread));
        scene.leaders.load(SeqCst)
    }

    fn meet(&self) {
        if self.barrier.meet() {
            self.leaders.fetch_add(1, SeqCst);
        }
    }
}

/// In each round, each thread writes, meets the others, reads what all have written, and meets them
/// again.
pub fn rounds<M: Engine, B: Meeting>(threads: usize, rounds: usize) {
    let leaders = Scene::<M, B>::run(threads, threads, move |scene, thread| {
        for round in 1..=rounds {
            // SAFETY: it is this thread's turn until all have met, which the checkers verify.
            unsafe { scene.written[thread].with(|written| *written = round) };
            scene.meet();
            assert!(scene.written.iter().all(|written| M::read(written) == round));
            scene.meet();
        }
    });
    assert_eq!(leaders, 2 * rounds);
}

/// `meetings` times as many threads as one meeting needs. Each thread meets once.
pub fn several<M: Engine, B: Meeting>(of: usize, meetings: usize) {
    let leaders = Scene::<M, B>::run(of, of * meetings, |scene, _| scene.meet());
    assert_eq!(leaders, meetings);
}
