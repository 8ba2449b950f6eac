//! Fabrics and locks that each have one fault. A test for each fault checks that a case finds it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bytemuck::Zeroable;
use syncline::lock::RawLock;
use syncline::memory::{Memory, Word};
use syncline::wait::Spin;
use syncline_fabric::{Change, Dead, Fabric, Heap, Here, Position, Simulated, Window};

use crate::cases::{Tested, message, section, sum};

/// A fabric with one fault, or with none if `FAULT` is none of the constants below.
#[derive(Clone, Debug)]
struct Faulty<const FAULT: usize>(Simulated);

/// A flush returns at once.
const NO_FLUSH: usize = 0;
/// A flush waits only for the puts to the rank's own part.
const FLUSH_OF_ANOTHER: usize = 1;
/// A word is changed by a load and then a put.
const PLAIN_CHANGE: usize = 2;
/// A word is stored by a put, which may be delayed.
const PLAIN_STORE: usize = 3;
/// A compare-and-swap is two operations: the comparison and the store.
const SPLIT_EXCHANGE: usize = 4;
/// A load or change of a word in another rank's part uses the word in the rank's own part instead.
const OWN_PART: usize = 5;

impl<const FAULT: usize> Tested for Faulty<FAULT> {
    fn of(simulated: Simulated) -> Self {
        Faulty(simulated)
    }
}

impl<const FAULT: usize> Fabric for Faulty<FAULT> {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn ranks(&self) -> usize {
        self.0.ranks()
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn put(&self, to: Position, bytes: &[u8]) {
        self.0.put(to, bytes);
    }
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        self.0.get(from, into)
    }
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        if FAULT != SPLIT_EXCHANGE {
            return self.0.compare_and_swap(at, old, new);
        }
        let was = self.0.load(at)?;
        if was == old {
            self.0.store(at, new)?;
        }
        Ok(was)
    }
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        let at = if FAULT == OWN_PART { Position { rank: self.rank(), ..at } } else { at };
        let plain = match change {
            Change::Keep => false,
            Change::Replace => FAULT == PLAIN_STORE,
            _ => FAULT == PLAIN_CHANGE,
        };
        if !plain {
            return self.0.fetch_and(at, change, operand);
        }
        let was = self.0.load(at)?;
        self.0.put(at, &change.apply(was, operand).to_ne_bytes());
        Ok(was)
    }
    fn flush(&self, rank: usize) -> Result<(), Dead> {
        match FAULT {
            NO_FLUSH => Ok(()),
            FLUSH_OF_ANOTHER => self.0.flush(self.rank()),
            _ => self.0.flush(rank),
        }
    }
    fn flush_all(&self) {
        match FAULT {
            NO_FLUSH => {}
            FLUSH_OF_ANOTHER => self.0.flush(self.rank()).expect("the own part lives"),
            _ => self.0.flush_all(),
        }
    }
    fn pause(&self, at: Position, looks: u32) {
        self.0.pause(at, looks);
    }
    fn rest(&self, time: Duration) {
        self.0.rest(time);
    }
    fn is_alive(&self, rank: usize) -> bool {
        self.0.is_alive(rank)
    }
    fn machine(&self, rank: usize) -> usize {
        self.0.machine(rank)
    }
    fn now(&self) -> Duration {
        self.0.now()
    }
}

impl<const FAULT: usize> Here for Faulty<FAULT> {
    fn here<R>(then: impl FnOnce(&Self) -> R) -> R {
        Simulated::here(|simulated| then(&Faulty(simulated.clone())))
    }
    fn nodes(&self) -> Heap {
        self.0.nodes()
    }
}

/// Asserts that a case finds a fault with one of many seeds. A case finds the fault if it returns
/// an error, or if ranks wait for something that never comes.
fn is_found(case: impl Fn(u64) -> Result<(), String>) {
    let found = (0..200).any(|seed| match catch_unwind(AssertUnwindSafe(|| case(seed))) {
        Ok(outcome) => outcome.is_err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            assert!(text.starts_with("ranks still wait after"), "{text}");
            true
        }
    });
    assert!(found, "not found with 200 seeds");
}

type Ticket<F> = syncline::lock::Ticket<Spin, Window<F>>;
type Mcs<F> = syncline::lock::Mcs<Spin, Window<F>>;

#[test]
fn without_a_flush() {
    is_found(|seed| message::<Faulty<NO_FLUSH>>(3, 4, seed));
    is_found(|seed| section::<_, Ticket<Faulty<NO_FLUSH>>>(3, 4, seed));
}

#[test]
fn a_flush_of_another_rank() {
    is_found(|seed| message::<Faulty<FLUSH_OF_ANOTHER>>(3, 4, seed));
    is_found(|seed| section::<_, Ticket<Faulty<FLUSH_OF_ANOTHER>>>(3, 4, seed));
}

#[test]
fn a_plain_change_of_a_remote_word() {
    is_found(|seed| sum::<Faulty<PLAIN_CHANGE>>(3, 4, seed));
    is_found(|seed| section::<_, Ticket<Faulty<PLAIN_CHANGE>>>(3, 4, seed));
}

#[test]
fn a_plain_store_to_a_remote_word() {
    is_found(|seed| section::<_, Mcs<Faulty<PLAIN_STORE>>>(4, 4, seed));
}

#[test]
fn an_exchange_in_two_steps() {
    is_found(|seed| section::<_, Mcs<Faulty<SPLIT_EXCHANGE>>>(4, 4, seed));
}

#[test]
fn a_word_in_the_wrong_part() {
    is_found(|seed| sum::<Faulty<OWN_PART>>(3, 4, seed));
    is_found(|seed| section::<_, Ticket<Faulty<OWN_PART>>>(3, 4, seed));
}

/// A lock of one word, which counts the ranks that hold the lock or try to acquire it. `FAULT` says
/// how the lock is acquired and released.
#[derive(Default)]
#[repr(C)]
struct Counted<const FAULT: usize> {
    held: <Window<Simulated> as Memory>::Word,
}

/// The lock is released by a store of 0. So the count of a rank that has come meanwhile is lost.
const RELEASED_BY_A_STORE: usize = 0;
/// The lock is acquired by a load and then a store.
const TAKEN_IN_TWO_STEPS: usize = 1;
/// The lock has no fault. This shows that the others fail because of their faults.
const RIGHT: usize = 2;

// SAFETY: zero is the value of a free lock.
unsafe impl<const FAULT: usize> Zeroable for Counted<FAULT> {}

// SAFETY: only `RIGHT` is sound; the tests have to find the faults of the others.
unsafe impl<const FAULT: usize> RawLock for Counted<FAULT> {
    type Memory = Window<Simulated>;
    type Node = ();

    unsafe fn acquire(&self, (): &()) {
        let mut looks = 1;
        loop {
            let first = match FAULT {
                TAKEN_IN_TWO_STEPS => {
                    let was = self.held.load(SeqCst);
                    if was == 0 {
                        self.held.store(1, SeqCst);
                    }
                    was == 0
                }
                _ => self.held.fetch_add(1, SeqCst) == 0,
            };
            if first {
                return;
            }
            if FAULT != TAKEN_IN_TWO_STEPS {
                self.held.fetch_sub(1, SeqCst);
            }
            Window::<Simulated>::pause_at(&self.held, looks);
            looks += 1;
        }
    }

    unsafe fn release(&self, (): &()) {
        match FAULT {
            RIGHT => _ = self.held.fetch_sub(1, SeqCst),
            _ => self.held.store(0, SeqCst),
        }
    }
}

#[test]
fn a_release_by_a_store() {
    is_found(|seed| section::<_, Counted<RELEASED_BY_A_STORE>>(4, 4, seed));
}

#[test]
fn a_lock_that_is_taken_in_two_steps() {
    is_found(|seed| section::<_, Counted<TAKEN_IN_TWO_STEPS>>(4, 4, seed));
}

#[test]
fn correct_code_shows_no_fault() {
    for seed in 0..200 {
        section::<_, Counted<RIGHT>>(4, 4, seed).unwrap();
        message::<Faulty<{ usize::MAX }>>(3, 4, seed).unwrap();
        section::<_, Mcs<Faulty<{ usize::MAX }>>>(4, 4, seed).unwrap();
    }
}
