//! The condition variable, with a queue lock and with the default lock, under both checkers.

use std::sync::Arc;
use std::time::Duration;

use syncline::Condvar;
use syncline::lock::{GatedMcs, Mcs, RawLock};
use syncline::memory::{Data, Memory, Pooled};
use syncline::wait::Park;
use syncline_checkers::{Bounds, Engine, Loom, Shuttle, model, randomly};

/// A condition variable, right or broken.
pub trait Condition<M: Memory>: Default + Send + Sync + 'static {
    /// Releases the lock, waits, and acquires the lock again.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn wait<L: RawLock<Memory = M>>(
        &self,
        lock: &L,
        node: &L::Node,
        deadline: Option<Duration>,
    );
    fn notify_one(&self);
    fn notify_all(&self);
}

/// Makes a type with these methods a [`Condition`].
macro_rules! condition {
    ($Condvar:ident) => {
        impl<M: syncline::memory::Memory> $crate::condvar::Condition<M> for $Condvar<M> {
            unsafe fn wait<L: syncline::lock::RawLock<Memory = M>>(
                &self,
                lock: &L,
                node: &L::Node,
                deadline: Option<core::time::Duration>,
            ) {
                // SAFETY: our caller's promise.
                unsafe { self.wait_raw(lock, node, deadline) }
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
pub(crate) use condition;

condition!(Condvar);

/// A store of tokens.
struct Store<C, L: RawLock> {
    lock: L,
    filled: C,
    tokens: <L::Memory as Memory>::Data<u32>,
}

impl<L: RawLock<Memory: Engine> + 'static, C: Condition<L::Memory>> Store<C, L> {
    /// Runs so many takers, then one thread that puts something in.
    fn play(takers: usize, put: impl Fn(&Self) + Send + Sync + 'static) {
        let tokens = Data::new(0);
        let store = Arc::new(Self { lock: L::default(), filled: C::default(), tokens });
        let shared = Arc::clone(&store);
        L::Memory::run(
            takers + 1,
            move |thread| {
                if thread < takers { shared.take() } else { put(&shared) }
            },
        );
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

    /// For the lock's holder.
    fn add(&self, tokens: u32) {
        // SAFETY: the lock is held, and the checkers see to it.
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

/// All tokens come at once, with one notification by the lock's holder.
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

/// The token comes after a wait that only its deadline ends.
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

fn explore(timed: bool, case: impl Fn() + Send + Sync + 'static) {
    model(Bounds { preemptions: Some(3), executions: Some(6_000), timed }, case);
}

macro_rules! tests {
    ($($name:ident: $Lock:ident;)*) => {
        mod loom {
            use super::{Condvar, Loom, Park};
            $(mod $name {
                type Lock = syncline::lock::$Lock<super::Park, super::Loom>;
                type Condvar = super::Condvar<super::Loom>;
                #[test]
                fn notify_one() {
                    super::super::explore(false, || super::super::one::<Condvar, Lock>(1));
                    super::super::explore(false, || super::super::one::<Condvar, Lock>(2));
                }
                #[test]
                fn notify_all() {
                    super::super::explore(false, || super::super::all::<Condvar, Lock>(2));
                }
                #[test]
                fn until() {
                    super::super::explore(true, || super::super::until::<Condvar, Lock>());
                }
            })*
        }
        mod shuttle {
            $(#[test]
            fn $name() {
                type Lock = super::$Lock<super::Park, super::Shuttle>;
                type Condvar = super::Condvar<super::Shuttle>;
                super::randomly(150, || super::one::<Condvar, Lock>(4));
                super::randomly(150, || super::all::<Condvar, Lock>(4));
                super::randomly(150, || super::until::<Condvar, Lock>());
            })*
        }
    };
}

tests! {
    mcs: Mcs;
    gate: GatedMcs;
}

/// Requires that a case fails with a broken condition variable.
macro_rules! reject {
    ($case:ident, $Lock:ident, $Condvar:ident) => {
        $crate::condvar::condition!($Condvar);
        type Broken = $Condvar<syncline_checkers::Loom>;
        type Lock = syncline::lock::$Lock<syncline::wait::Park, syncline_checkers::Loom>;
        let case = || $crate::condvar::$case::<Broken, Lock>(2);
        let why = $crate::mutants::failure(false, case);
        println!("{}", why.expect("the mutant survived"));
    };
}
pub(crate) use reject;
