//! Native stress tests of the catalogue. They run with few threads and with more threads than
//! processors, under each waiting policy, and with the limits (`PATIENCE`, `BATCH`) of native
//! memory and of [`Grouped`], whose limits are so small that they are reached all the time.

#[path = "../../tests/limit/mod.rs"]
mod limit;

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::{Delegated, RawDelegation};
use crate::lock::Ticket;
use crate::memory::{Grouped, Native};
use crate::wait::{Park, Spin, Yield};

const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test in a thread of its own, with a limit on its time.
fn within_limit(test: impl FnOnce() + Send + 'static) {
    limit::within(LIMIT, test);
}

/// Runs a function in several threads, each in one of the groups of [`Grouped`].
fn in_threads(threads: usize, body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for thread in 0..threads {
            let body = &body;
            scope.spawn(move || {
                Grouped::migrate([thread % 3; 3]);
                body(thread);
            });
        }
    });
}

/// Panics, without the panic hook's message.
fn fail(with: u32) -> ! {
    resume_unwind(Box::new(with))
}

fn counts<D: RawDelegation>(threads: usize, rounds: usize) {
    let count = Delegated::<usize, D>::from(0);
    let seen = std::sync::Mutex::new(Vec::new());
    in_threads(threads, |_| {
        let mut mine = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            // The section borrows from this stack.
            count.with(|count| {
                mine.push(*count);
                *count += 1;
            });
        }
        assert!(mine.is_sorted());
        seen.lock().expect("nobody panicked").extend(mine);
    });
    let mut seen = seen.into_inner().expect("nobody panicked");
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(0..threads * rounds), "a section ran twice, or not at all");
    assert_eq!(count.into_inner(), threads * rounds);
}

/// Each section runs once, whether its caller waits for it or not, and the sections of a thread run
/// in the order in which the thread submitted them.
fn keeps_order<D: RawDelegation>(threads: usize, rounds: usize) {
    let last = Delegated::<Vec<usize>, D>::from(vec![0; threads]);
    in_threads(threads, |thread| {
        let mut pending = Vec::new();
        for round in 0..rounds {
            let section = move |last: &mut Vec<usize>| {
                assert_eq!(last[thread], round, "out of order");
                last[thread] += 1;
                round
            };
            match round % 4 {
                0 => assert_eq!(last.with(section), round),
                1 => drop(last.delegate(section)),
                2 => assert_eq!(last.delegate(section).wait(), round),
                _ => pending.push((round, last.delegate(section))),
            }
        }
        for (round, pending) in pending {
            assert_eq!(pending.wait(), round);
        }
        // All earlier sections of this thread have run now.
        last.with(|last| assert_eq!(last[thread], rounds));
    });
}

/// Sections and results, small and large, are dropped once, whichever thread drops them.
fn leaks_nothing<D: RawDelegation>(threads: usize, rounds: usize) {
    #[repr(align(64))]
    struct Aligned(Arc<()>);
    let token = Arc::new(());
    let kept = Delegated::<Vec<Arc<()>>, D>::from(Vec::new());
    in_threads(threads, |_| {
        for round in 0..rounds {
            let mine = Arc::clone(&token);
            match round % 5 {
                0 => drop(kept.delegate(move |kept| kept.push(mine))),
                1 => drop(kept.delegate(move |_| mine)),
                2 => drop(
                    kept.delegate(move |_| [const { None }; 40].map(|_: Option<u8>| mine.clone())),
                ),
                3 => {
                    let aligned = Aligned(mine);
                    let back = kept.delegate(move |_| aligned).wait();
                    assert!(Arc::ptr_eq(&back.0, &token));
                }
                _ => {
                    let pending = kept.delegate(move |_| mine);
                    while !pending.is_done() {
                        thread::yield_now();
                    }
                    drop(pending);
                }
            }
        }
    });
    assert_eq!(kept.into_inner().len(), threads * rounds.div_ceil(5));
    assert_eq!(Arc::strong_count(&token), 1);
}

/// A section's panic reaches the thread that waits for the section, if any, and the helper
/// continues.
fn survives_panics<D: RawDelegation>(threads: usize, rounds: usize) {
    /// A result whose destructor panics.
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            fail(0);
        }
    }
    let count = Delegated::<usize, D>::from(0);
    in_threads(threads, |thread| {
        for round in 0..rounds {
            let section = move |count: &mut usize| {
                *count += 1;
                if round % 2 == 0 {
                    fail(thread as u32);
                }
            };
            let outcome = match round % 3 {
                0 => catch_unwind(AssertUnwindSafe(|| count.with(section))),
                1 => catch_unwind(AssertUnwindSafe(|| count.delegate(section).wait())),
                _ => {
                    drop(count.delegate(section));
                    let grenade = count.delegate(|_| Grenade);
                    // The helper drops the result and survives, or this thread does.
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(grenade)));
                    continue;
                }
            };
            let panic = outcome.err().map(|panic| panic.downcast_ref::<u32>().copied());
            assert_eq!(panic, (round % 2 == 0).then_some(Some(thread as u32)));
        }
    });
    assert_eq!(count.into_inner(), threads * rounds);
}

/// Sections of one lock use another lock.
fn nests<D: RawDelegation + 'static>(threads: usize, rounds: usize) {
    let outer = Delegated::<usize, D>::from(0);
    let inner = Arc::new(Delegated::<usize, D>::from(0));
    in_threads(threads, |_| {
        for _ in 0..rounds {
            outer.with(|count| {
                *count += 1;
                inner.with(|inner| *inner += 1);
                drop(inner.delegate(|inner| *inner += 1));
            });
            let inner = Arc::clone(&inner);
            drop(outer.delegate(move |count| {
                *count += 1;
                drop(inner.delegate(|inner| *inner += 1));
            }));
        }
    });
    assert_eq!(outer.into_inner(), 2 * threads * rounds);
    let inner = Arc::into_inner(inner).expect("all sections were dropped");
    assert_eq!(inner.into_inner(), 3 * threads * rounds);
}

/// A thread's calls return even if other threads delegate endlessly and never wait for a result.
fn lets_the_helper_go<D: RawDelegation>(rounds: usize) {
    let count = Delegated::<usize, D>::from(0);
    let over = AtomicBool::new(false);
    let delegated = AtomicUsize::new(0);
    in_threads(3, |thread| {
        if thread == 0 {
            for _ in 0..rounds {
                count.with(|count| *count += 1);
            }
            over.store(true, Relaxed);
        }
        while !over.load(Relaxed) {
            drop(count.delegate(|count| *count += 1));
            delegated.fetch_add(1, Relaxed);
        }
    });
    assert_eq!(count.into_inner(), rounds + delegated.into_inner());
}

fn everything<D: RawDelegation + 'static>(threads: usize, rounds: usize) {
    within_limit(move || {
        counts::<D>(threads, rounds);
        keeps_order::<D>(threads, rounds);
        leaks_nothing::<D>(threads, rounds);
        survives_panics::<D>(threads, rounds);
        nests::<D>(threads, rounds);
        lets_the_helper_go::<D>(rounds);
    });
}

macro_rules! stress {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        mod $name {
            use super::*;
            use crate::delegation::$Lock as Lock;

            fn under_each_policy(threads: usize, rounds: usize) {
                everything::<Lock<Spin>>(threads, rounds);
                everything::<Lock<Yield>>(threads, rounds);
                everything::<Lock<Park>>(threads, rounds);
                everything::<Lock<Spin, Grouped>>(threads, rounds);
                everything::<Lock<Yield, Grouped>>(threads, rounds);
                everything::<Lock<Park, Grouped>>(threads, rounds);
            }

            #[test]
            fn by_one_thread() {
                under_each_policy(1, 50);
            }

            #[test]
            fn by_two_threads() {
                under_each_policy(2, 500);
            }

            #[test]
            fn by_too_many_threads() {
                under_each_policy(16, 20);
            }
        }
    };
}

crate::for_each_delegation!(stress);

#[test]
fn threads_may_move_between_groups() {
    within_limit(|| {
        type Lock = super::Hqd<Park, Grouped, Ticket<Park, Grouped>, 2, 4>;
        let count = Delegated::<usize, Lock>::from(0);
        in_threads(4, |thread| {
            for round in 0..500 {
                Grouped::migrate([(thread + round) % 3; 3]);
                drop(count.delegate(|count| *count += 1));
                count.with(|count| *count += 1);
            }
        });
        assert_eq!(count.into_inner(), 4 * 500 * 2);
    });
}

#[test]
fn a_queue_may_have_one_slot() {
    within_limit(|| counts::<super::Qd<Park, Native, 1>>(4, 200));
}

#[test]
fn a_fresh_lock_is_zero() {
    macro_rules! fresh {
        ($name:ident, $Lock:ident, $($feature:ident)*) => {{
            static VALUE: Delegated<[u8; 3], super::$Lock> = Delegated::new([1, 2, 3]);
            assert_eq!(VALUE.with(|value| value[1]), 2);
            assert_eq!(VALUE.delegate(|value| value[2]).wait(), 3);
        }};
    }
    crate::for_each_delegation!(fresh);
}
