//! Turns, which make starvation impossible.
//!
//! A transaction that has failed too often asks for a turn, in which it runs
//! [alone](super::serial) and can't fail. This module decides which of the threads that ask is
//! next.
//!
//! **Next** is the thread whose transactions have cost least so far, counting those that succeeded:
//! FairCM's *effective transactional time*, here in accesses, since reading a clock costs more than
//! a short transaction. So long transactions and short ones get equal shares. To keep newly arrived
//! threads from always going first, a thread that arrives counts as having at least the longest
//! time that any thread had when its turn ended. This time grows with the turns, so each turn
//! brings all waiting threads closer to their own turns. It is the virtual time of fair queueing.
//!
//! Source: Gramoli, Guerraoui and Trigonakis, "TM2C: a Software Transactional Memory for
//! Many-Cores", EuroSys 2012 (FairCM). In TM2C each conflict is decided by that time, which
//! requires reads that others can see.

use super::guarded::Guarded;
use crate::lock::Mcs;
use crate::memory::{Memory, Native, Own};
use crate::wait::Wait;
use alloc::vec::Vec;

const WAITING: u32 = 0;
const TURN: u32 = 2;

/// The turns of an engine's transactions.
pub struct Turns<W: Wait, M: Memory> {
    queue: Guarded<Queue<M>, Mcs<W, M>>,
}

/// The right to be alone before all others that ask.
#[derive(Debug)]
pub struct Turn {
    time: u64,
}

struct Queue<M: Memory> {
    taken: bool,
    /// The longest effective time that a thread had at the end of its turn.
    now: u64,
    /// The waiting threads in order of arrival: their effective time, and the word that each waits
    /// for.
    waiting: Vec<(u64, M::Ref<M::Word>)>,
}

// SAFETY: the words that it refers to are shared, and stay while they are in the queue.
unsafe impl<M: Memory> Send for Queue<M> {}

impl<M: Memory> Queue<M> {
    const EMPTY: Self = Self { taken: false, now: 0, waiting: Vec::new() };

    /// Removes the next thread: the one with the least time, or if several have it, the one that
    /// came first.
    fn next(&mut self) -> Option<M::Ref<M::Word>> {
        let (place, _) = self.waiting.iter().enumerate().min_by_key(|(_, (time, _))| *time)?;
        Some(self.waiting.remove(place).1)
    }
}

impl<W: Wait> Turns<W, Native> {
    /// A queue without turns. It is `const`.
    pub const fn fresh() -> Self {
        Self { queue: Guarded::fresh(Queue::EMPTY) }
    }
}

impl<W: Wait, M: Memory> Turns<W, M> {
    /// A queue without turns.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { queue: Guarded::new(Queue::EMPTY) }
    }

    /// Waits for a turn. `spent` is what the thread's transactions have cost so far.
    pub fn take(&self, spent: u64) -> Turn {
        let word = Own::<M::Word, M>::default();
        let (time, waits) = self.queue.with(|queue| {
            let time = spent.max(queue.now);
            let waits = queue.taken;
            if waits {
                queue.waiting.push((time, M::refer(&word)));
            }
            queue.taken = true;
            (time, waits)
        });
        if waits {
            W::wait::<M>(&word, 0, None, |word| word != WAITING);
        }
        Turn { time }
    }

    /// Ends a turn. `cost` is that of the transaction that ran in the turn.
    pub fn leave(&self, turn: &Turn, cost: u64) {
        self.queue.with(|queue| {
            queue.now = queue.now.max(turn.time + cost);
            match queue.next() {
                // SAFETY: the word stays until its owner has seen that its turn has come.
                Some(next) => W::hand_over::<M>(unsafe { M::follow(next) }, TURN),
                None => queue.taken = false,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Park;
    use core::sync::atomic::AtomicU64;
    use core::sync::atomic::Ordering::Relaxed;
    use std::thread;
    use std::time::Duration;

    /// Lets threads with these effective times wait for a turn, and returns the order in which
    /// they get one.
    fn order(times: &[u64]) -> Vec<u64> {
        let turns = Turns::<Park, Native>::new();
        let place = AtomicU64::new(0);
        let first = turns.take(0);
        let mut order: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = times
                .iter()
                .enumerate()
                .map(|(count, &time)| {
                    let (turns, place) = (&turns, &place);
                    let thread = scope.spawn(move || {
                        let turn = turns.take(time);
                        let place = place.fetch_add(1, Relaxed);
                        turns.leave(&turn, 10);
                        (place, time)
                    });
                    while turns.queue.with(|queue| queue.waiting.len()) <= count {
                        thread::sleep(Duration::from_millis(1));
                    }
                    thread
                })
                .collect();
            turns.leave(&first, 10);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        order.sort_unstable();
        order.into_iter().map(|(_, time)| time).collect()
    }

    #[test]
    fn who_has_spent_least_is_next() {
        assert_eq!(order(&[50, 20, 40, 30]), [20, 30, 40, 50]);
    }

    #[test]
    fn who_comes_later_can_not_go_first_forever() {
        let turns = Turns::<Park, Native>::new();
        // The time of a waiting thread does not grow. The time of each newcomer begins where the
        // last turn ended.
        let mut times = Vec::new();
        for _ in 0..5 {
            let turn = turns.take(0);
            times.push(turn.time);
            turns.leave(&turn, 10);
        }
        assert_eq!(times, [0, 10, 20, 30, 40]);
    }
}
