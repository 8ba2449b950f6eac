//! Words that all ranks see, and that threads of all ranks can wait for.

use std::time::{Duration, Instant};

use syncline_dsm::program::Program;
use syncline_fabric::{Change, Fabric, Machines, Position};

use crate::deadline::Deadline;

/// A waiter looks again after this time even if no thread wakes it.
const NAP: Duration = Duration::from_millis(100);
/// How often a waiter looks before it sleeps.
const LOOKS: u32 = 40;

/// A word in a rank's part. The fabric's operations on it are sequentially consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub Position);

/// The program, which has been started.
#[inline]
pub fn program() -> &'static Program {
    match Program::get() {
        Some(program) => program,
        None => crate::fail::cannot("shared memory has not been started"),
    }
}

/// The number of this process's rank.
pub fn rank() -> usize {
    program().rank()
}

fn fabric() -> &'static Machines {
    program().fabric()
}

/// On one machine, no rank's part is ever lost.
fn reached<R, E>(result: Result<R, E>) -> R {
    match result {
        Ok(value) => value,
        Err(_) => crate::fail::cannot("a rank's memory is lost"),
    }
}

impl Word {
    /// The word at this many bytes of a rank's words.
    pub fn of(rank: usize, at: usize) -> Word {
        Word(program().own_word(rank, at))
    }

    /// The word this many words after this one.
    pub fn plus(self, words: usize) -> Word {
        Word(self.0.plus(8 * words))
    }

    pub fn load(self) -> u64 {
        reached(fabric().load(self.0))
    }

    pub fn store(self, value: u64) {
        reached(fabric().store(self.0, value));
    }

    /// Replaces the value `old` by `new`. Returns whether it was `old`.
    pub fn exchange(self, old: u64, new: u64) -> bool {
        reached(fabric().compare_and_swap(self.0, old, new)) == old
    }

    /// Replaces the value, and returns the one before.
    pub fn swap(self, new: u64) -> u64 {
        reached(fabric().fetch_and(self.0, Change::Replace, new))
    }

    /// Adds to the value, and returns the one before.
    pub fn add(self, value: u64) -> u64 {
        reached(fabric().add(self.0, value))
    }

    /// Sets bits of the value, and returns the one before.
    pub fn set_bits(self, bits: u64) -> u64 {
        reached(fabric().fetch_and(self.0, Change::Or, bits))
    }

    /// Waits while the word has this value, which is below 2^32. Returns false if the deadline
    /// passes.
    pub fn wait_while(self, value: u64, deadline: Option<Deadline>) -> bool {
        let mut looks = 0;
        let mut start = None;
        while self.load() == value {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
                continue;
            }
            let nap = match deadline.map(|deadline| deadline.left()) {
                Some(left) if left.is_zero() => return false,
                Some(left) => left.min(NAP),
                None => NAP,
            };
            let waited = start.get_or_insert_with(Instant::now).elapsed();
            fabric().sleep(self.0, value as u32, waited, nap);
        }
        true
    }

    /// Wakes at most this many threads that wait for the word.
    pub fn wake(self, most: u32) {
        fabric().wake(self.0, most);
    }
}

/// All threads that wait.
pub const ALL: u32 = u32::MAX;
