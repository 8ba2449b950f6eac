//! The cases of one-time initialization.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use syncline::memory::{Data, Memory};
use syncline::once::raw::{FRESH, POISONED, RawOnce};

use crate::engine::Engine;

/// A one-time initialization, correct or broken.
pub trait Happens: Default + Send + Sync + 'static {
    /// Whether it is completed.
    fn is_completed(&self) -> bool;
    /// Calls the function, or waits until another thread's call has returned. A panic leaves the
    /// state `panicked`.
    fn call(&self, panicked: u32, act: impl FnOnce());
    /// Waits until it is completed.
    fn wait(&self);
}

/// Implements `Happens` for a type with these methods.
#[macro_export]
macro_rules! happens {
    ($Once:ident) => {
        impl<M: syncline::memory::Memory> $crate::cases::once::Happens for $Once<M> {
            fn is_completed(&self) -> bool {
                $Once::is_completed(self)
            }
            fn call(&self, panicked: u32, act: impl FnOnce()) {
                $Once::call(self, true, panicked, |_| act());
            }
            fn wait(&self) {
                $Once::wait(self, true);
            }
        }
    };
}

happens!(RawOnce);

/// A function that returns adds `ALL` to `done`, and a function that panics adds `SOME`.
const ALL: u32 = 10;
const SOME: u32 = 1;

/// An initialization, and what it has done.
struct Deed<M: Memory, O> {
    once: O,
    done: M::Data<u32>,
}

// SAFETY: a word and a number, which may be shared between threads.
unsafe impl<M: Memory, O: Sync> Sync for Deed<M, O> {}
// SAFETY: as above.
unsafe impl<M: Memory, O: Send> Send for Deed<M, O> {}

impl<M: Engine, O: Happens> Deed<M, O> {
    fn run(threads: usize, act: impl Fn(&Self, usize) + Send + Sync + 'static) -> Arc<Self> {
        let deed = Arc::new(Self { once: O::default(), done: Data::new(0) });
        let shared = Arc::clone(&deed);
        M::run(threads, move |thread| act(&shared, thread));
        deed
    }

    /// Does a part of the initialization; only for the thread that initializes.
    fn act(&self, part: u32) {
        // SAFETY: one thread at a time initializes, which the checkers verify.
        unsafe { self.done.with(|done| *done += part) };
    }

    /// The sum of the parts that were done; only for threads that know that the initialization is
    /// completed.
    fn seen(&self) -> u32 {
        M::read(&self.done)
    }
}

/// All threads call the initialization; only the first call runs its function.
pub fn once<M: Engine, O: Happens>(threads: usize) {
    Deed::<M, O>::run(threads, |deed, _| {
        if !deed.once.is_completed() {
            deed.once.call(POISONED, || deed.act(ALL));
        }
        assert_eq!(deed.seen(), ALL);
    });
}

/// Thread 0 initializes, and the others wait for that, except that thread 1 first checks whether it
/// must wait.
pub fn waited<M: Engine, O: Happens>(threads: usize) {
    Deed::<M, O>::run(threads, |deed, thread| match thread {
        0 => deed.once.call(FRESH, || deed.act(ALL)),
        1 if deed.once.is_completed() => {}
        _ => deed.once.wait(),
    })
    .once
    .wait();
}

/// The first thread's function panics if its call comes first. The third thread waits, and all
/// others initialize.
pub fn panicked<M: Engine, O: Happens>(threads: usize, state: u32) {
    let deed = Deed::<M, O>::run(threads, move |deed, thread| match thread {
        0 => {
            let fail = || {
                deed.act(SOME);
                resume_unwind(Box::new("on purpose"));
            };
            _ = catch_unwind(AssertUnwindSafe(|| deed.once.call(state, fail)));
        }
        1 => deed.once.call(state, || deed.act(ALL)),
        2 => {
            deed.once.wait();
            assert!(deed.seen() >= ALL);
        }
        _ => {
            deed.once.call(state, || deed.act(ALL));
            assert!(deed.seen() >= ALL);
        }
    });
    assert!(deed.once.is_completed());
}
