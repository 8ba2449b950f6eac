//! The condition variable's cases, over any lock.

use std::sync::Arc;
use std::time::Duration;

use syncline::Condvar;
use syncline::lock::RawLock;
use syncline::memory::{Data, Memory, Pooled};

use crate::engine::Engine;

/// A condition variable, correct or broken.
pub trait Condition<M: Memory>: Default + Send + Sync + 'static {
    /// Releases the lock, waits, and acquires the lock again. Returns whether the deadline has
    /// passed.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn wait<L: RawLock<Memory = M>>(
        &self,
        lock: &L,
        node: &L::Node,
        deadline: Option<Duration>,
    ) -> bool;
    /// Wakes one waiting thread.
    fn notify_one(&self);
    /// Wakes all waiting threads.
    fn notify_all(&self);
}

/// Implements `Condition` for a type with these methods.
#[macro_export]
macro_rules! condition {
    ($Condvar:ident) => {
        impl<M: syncline::memory::Memory> $crate::cases::condvar::Condition<M> for $Condvar<M> {
            unsafe fn wait<L: syncline::lock::RawLock<Memory = M>>(
                &self,
                lock: &L,
                node: &L::Node,
                deadline: Option<core::time::Duration>,
            ) -> bool {
                // SAFETY: our caller's promise.
                unsafe { self.wait_raw(lock, node, deadline).timed_out() }
            }
            fn notify_one(&self) {
                $Condvar::notify_one(self);
            }
            fn notify_all(&self) {
                $Condvar::notify_all(self);
            }
        }
    };
}

condition!(Condvar);

/// A store of tokens.
struct Store<C, L: RawLock> {
    lock: L,
    filled: C,
    tokens: <L::Memory as Memory>::Data<u32>,
}

// SAFETY: a lock, a condition variable and a number, which may be shared between threads.
unsafe impl<C: Sync, L: RawLock> Sync for Store<C, L> {}
// SAFETY: as above.
unsafe impl<C: Send, L: RawLock> Send for Store<C, L> {}

impl<L: RawLock<Memory: Engine> + 'static, C: Condition<L::Memory>> Store<C, L> {
    /// Runs `takers` threads that each take a token, and one thread that puts tokens in.
    fn play(takers: usize, put: impl Fn(&Self) + Send + Sync + 'static) {
        Self::run(
            takers + 1,
            move |store, thread| {
                if thread < takers { store.take() } else { put(store) }
            },
        );
    }

    /// Runs threads, and checks that no token is left.
    fn run(threads: usize, act: impl Fn(&Self, usize) + Send + Sync + 'static) {
        let tokens = Data::new(0);
        let store = Arc::new(Self { lock: L::default(), filled: C::default(), tokens });
        let shared = Arc::clone(&store);
        L::Memory::run(threads, move |thread| act(&shared, thread));
        assert_eq!(L::Memory::read(&store.tokens), 0, "tokens are left");
    }

    fn with<R>(&self, act: impl FnOnce(&L::Node) -> R) -> R {
        let node = Pooled::<L::Node, L::Memory>::new();
        // SAFETY: the node stays until the release.
        unsafe {
            self.lock.acquire(&node);
            let result = act(&node);
            self.lock.release(&node);
            result
        }
    }

    /// Waits for a token and takes it.
    fn take(&self) {
        self.with(|node| {
            while L::Memory::read(&self.tokens) == 0 {
                // SAFETY: the lock is held with this node.
                unsafe { self.filled.wait(&self.lock, node, None) };
            }
            self.add(u32::MAX);
        });
    }

    /// Adds tokens, or takes one away for `u32::MAX`; only for the lock's holder.
    fn add(&self, tokens: u32) {
        // SAFETY: the lock is held, which the checkers verify.
        unsafe { self.tokens.with(|all| *all = (*all).wrapping_add(tokens)) };
    }
}

/// Tokens come one by one, each with a notification after the release.
pub fn one<C, L>(takers: usize)
where
    L: RawLock<Memory: Engine> + 'static,
    C: Condition<L::Memory>,
{
    let put = move |store: &Store<C, L>| {
        for _ in 0..takers {
            store.with(|_| store.add(1));
            store.filled.notify_one();
        }
    };
    Store::play(takers, put);
}

/// All tokens come at once, with one notification to all by the lock's holder.
pub fn all<C, L>(takers: usize)
where
    L: RawLock<Memory: Engine> + 'static,
    C: Condition<L::Memory>,
{
    let put = move |store: &Store<C, L>| {
        store.with(|_| {
            store.add(takers as u32);
            store.filled.notify_all();
        });
    };
    Store::play(takers, put);
}

/// The thread with the token first waits for its deadline: nothing notifies it. Then it puts the
/// token in.
pub fn until<C, L>()
where
    L: RawLock<Memory: Engine> + 'static,
    C: Condition<L::Memory>,
{
    let wait = |store: &Store<C, L>| {
        store.with(|node| {
            // SAFETY: the lock is held with this node.
            unsafe { store.filled.wait(&store.lock, node, Some(L::Memory::soon())) };
            store.add(1);
        });
        store.filled.notify_one();
    };
    Store::play(1, wait);
}

/// A thread with a deadline and a taker wait at the same time. If its deadline passes, it leaves;
/// otherwise it passes the notification on. If it left with the notification, the taker would stay
/// asleep.
pub fn passed_on<C, L>()
where
    L: RawLock<Memory: Engine> + 'static,
    C: Condition<L::Memory>,
{
    Store::<C, L>::run(3, |store, thread| match thread {
        0 => store.take(),
        1 => {
            let timed_out = store.with(|node| {
                // SAFETY: the lock is held with this node.
                unsafe { store.filled.wait(&store.lock, node, Some(L::Memory::soon())) }
            });
            if !timed_out {
                store.filled.notify_one();
            }
        }
        _ => {
            store.with(|_| store.add(1));
            store.filled.notify_one();
        }
    });
}
