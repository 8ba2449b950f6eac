//! Locks that are deliberately broken: each must fail the test case that looks for its fault.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use syncline::lock::RawLock;
use syncline::memory::{Memory, Word};
use syncline_sim::Simulated;

use crate::cases;

type Shared = <Simulated as Memory>::Word;

fn wait_while(word: &Shared, value: u32) {
    let mut looks = 0;
    while word.load(Acquire) == value {
        looks += 1;
        Simulated::pause(looks);
    }
}

macro_rules! broken {
    ($(#[$doc:meta])* $Lock:ident { $($field:ident),* } $acquire:expr, $release:expr) => {
        $(#[$doc])*
        #[derive(Default)]
        struct $Lock { $($field: Shared),* }

        // SAFETY: the lock does not exclude, on purpose. This is harmless, since it protects
        // nothing but cells of one real thread.
        unsafe impl RawLock for $Lock {
            type Memory = Simulated;
            type Node = ();
            unsafe fn acquire(&self, (): &()) {
                let acquire: fn(&Self) = $acquire;
                acquire(self);
            }
            unsafe fn release(&self, (): &()) {
                let release: fn(&Self) = $release;
                release(self);
            }
        }
    };
}

broken! {
    /// Checks whether the lock is free and then sets it, in two steps instead of one.
    TwoSteps { word }
    |lock| {
        wait_while(&lock.word, 1);
        lock.word.store(1, Relaxed);
    },
    |lock| lock.word.store(0, Release)
}

#[test]
#[should_panic(expected = "two threads hold the lock")]
fn two_steps() {
    cases::exclusion::<TwoSteps>();
}

broken! {
    /// After a while, acquires the lock even if another thread holds it.
    Impatient { word }
    |lock| {
        for looks in 1..40 {
            if lock.word.swap(1, AcqRel) == 0 {
                return;
            }
            Simulated::pause(looks);
        }
    },
    |lock| lock.word.store(0, Release)
}

#[test]
#[should_panic(expected = "two threads hold the lock")]
fn impatient() {
    cases::crowded::<Impatient>();
}

broken! {
    /// Waiters sleep until they are woken, but no release wakes a thread.
    Forgetful { word }
    |lock| while lock.word.swap(1, AcqRel) != 0 {
        Simulated::park(&lock.word, 1, 0, None);
    },
    |lock| lock.word.store(0, Release)
}

#[test]
#[should_panic(expected = "threads do not end")]
fn forgetful() {
    cases::exclusion::<Forgetful>();
}

broken! {
    /// A ticket lock whose release skips a ticket, so that all threads wait for a ticket that no
    /// thread has.
    Skipping { next, current }
    |lock| {
        let mine = lock.next.fetch_add(1, Relaxed);
        let mut looks = 0;
        while lock.current.load(Acquire) != mine {
            looks += 1;
            Simulated::pause(looks);
        }
    },
    |lock| {
        let mine = lock.current.load(Relaxed);
        lock.current.store(mine + 1 + u32::from(mine == 30), Release);
    }
}

#[test]
#[should_panic(expected = "threads do not end")]
fn skipping() {
    cases::exclusion::<Skipping>();
}

broken! {
    /// Excludes correctly, but serves waiters in random order.
    Unfair { word }
    |lock| while lock.word.swap(1, AcqRel) != 0 {
        wait_while(&lock.word, 1);
    },
    |lock| lock.word.store(0, Release)
}

#[test]
fn unfair_locks_exclude() {
    cases::exclusion::<Unfair>();
}

#[test]
#[should_panic(expected = "left == right")]
fn unfair() {
    cases::fifo::<Unfair>();
}
