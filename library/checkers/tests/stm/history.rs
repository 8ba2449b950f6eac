//! Recorded histories, and whether they are opaque.
//!
//! A history is a set of attempts. Each attempt has the values that it read and wrote, in order,
//! and whether it committed. A history is *opaque* if all attempts, including failed ones, can be
//! put in an order, one whole attempt after the other, such that each reads what was committed
//! before it. An attempt that ended before another began must come first. Then committed attempts
//! alone are serializable.
//!
//! Source: Guerraoui and Kapałka, "On the Correctness of Transactional Memory", PPoPP 2008. The
//! decision tries all orders, so histories must be small.

use std::collections::HashSet;
use std::sync::Mutex;

/// The number of cells. Each holds a number, initially 0.
pub const CELLS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Read(usize, u32),
    Write(usize, u32),
}

#[derive(Clone, Debug, Default)]
pub struct Attempt {
    pub thread: usize,
    /// The attempt took place somewhere between these two moments.
    pub begin: usize,
    pub end: usize,
    pub steps: Vec<Step>,
    pub committed: bool,
}

impl Attempt {
    /// The memory after this attempt; `None` if the attempt can't have read its values from
    /// `memory`.
    fn applied(&self, memory: [u32; CELLS]) -> Option<[u32; CELLS]> {
        let mut own = memory;
        for &step in &self.steps {
            match step {
                Step::Read(cell, value) if own[cell] != value => return None,
                Step::Read(..) => {}
                Step::Write(cell, value) => own[cell] = value,
            }
        }
        Some(if self.committed { own } else { memory })
    }
}

/// Whether there is an order that explains all attempts.
pub fn is_opaque(attempts: &[Attempt]) -> bool {
    assert!(attempts.len() <= 32, "too many to try all orders");
    extends(attempts, 0, [0; CELLS], &mut HashSet::new())
}

/// Whether the remaining attempts can follow those in the set `placed`, which have left this
/// memory.
fn extends(
    attempts: &[Attempt],
    placed: u32,
    memory: [u32; CELLS],
    seen: &mut HashSet<(u32, [u32; CELLS])>,
) -> bool {
    let left = |place: &usize| placed & (1 << place) == 0;
    let count = attempts.len();
    if placed.count_ones() as usize == count {
        return true;
    }
    if !seen.insert((placed, memory)) {
        return false;
    }
    (0..count).filter(left).any(|next| {
        let first =
            (0..count).filter(left).all(|other| attempts[other].end >= attempts[next].begin);
        first
            && attempts[next]
                .applied(memory)
                .is_some_and(|memory| extends(attempts, placed | 1 << next, memory, seen))
    })
}

/// The order in time that attempts must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// The order in which operations were recorded.
    Real,
    /// Only the order within each thread: under loom, a thread may see the stores of others late.
    OwnThread,
}

/// Records what threads do. Checkers don't see its ordinary mutex, so for them it orders nothing.
pub struct Recorder {
    time: Time,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: usize,
    attempts: Vec<Attempt>,
    /// The running attempt of each thread.
    running: Vec<Option<Attempt>>,
}

impl Recorder {
    pub fn new(time: Time, threads: usize) -> Self {
        let running = vec![None; threads];
        Self { time, state: Mutex::new(State { running, ..State::default() }) }
    }

    fn with<R>(&self, what: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock().expect("nobody panics here");
        state.now += 1;
        what(&mut state)
    }

    /// Records that a thread is about to begin a transaction.
    pub fn begin(&self, thread: usize) {
        self.with(|state| {
            let attempt = Attempt { thread, begin: state.now, ..Attempt::default() };
            state.running[thread] = Some(attempt);
        });
    }

    /// Records the start of an attempt; if it is not the first, the one before has failed.
    pub fn attempt(&self, thread: usize) {
        self.with(|state| {
            let running = state.running[thread].as_mut().expect("it has begun");
            if running.steps.is_empty() {
                return;
            }
            let end = running.end;
            let next = Attempt { thread, begin: end, ..Attempt::default() };
            let failed = std::mem::replace(running, next);
            state.attempts.push(failed);
        });
    }

    pub fn step(&self, thread: usize, step: Step) {
        self.with(|state| {
            let running = state.running[thread].as_mut().expect("it has begun");
            running.steps.push(step);
            running.end = state.now;
        });
    }

    /// Records that the running attempt has committed.
    pub fn committed(&self, thread: usize) {
        self.with(|state| {
            let mut attempt = state.running[thread].take().expect("it has begun");
            attempt.end = state.now;
            attempt.committed = true;
            state.attempts.push(attempt);
        });
    }

    /// Panics if the recorded history is not opaque.
    pub fn check(&self) {
        let mut attempts = self.with(|state| state.attempts.clone());
        if self.time == Time::OwnThread {
            // Only the attempts of one thread keep their order; those of different threads may come
            // in any order.
            assert!(is_opaque_by_threads(&mut attempts), "not opaque: {attempts:#?}");
        } else {
            assert!(is_opaque(&attempts), "not opaque: {attempts:#?}");
        }
    }
}

/// Like [`is_opaque`], for attempts whose moments can't be compared with those of other threads.
fn is_opaque_by_threads(attempts: &mut [Attempt]) -> bool {
    attempts.sort_by_key(|attempt| (attempt.thread, attempt.begin));
    extends_by_threads(attempts, 0, [0; CELLS])
}

fn extends_by_threads(attempts: &[Attempt], placed: u32, memory: [u32; CELLS]) -> bool {
    let left: Vec<_> = (0..attempts.len()).filter(|place| placed & (1 << place) == 0).collect();
    left.is_empty()
        || left.iter().any(|&next| {
            let earlier = left
                .iter()
                .any(|&other| other < next && attempts[other].thread == attempts[next].thread);
            !earlier
                && attempts[next]
                    .applied(memory)
                    .is_some_and(|memory| extends_by_threads(attempts, placed | 1 << next, memory))
        })
}

#[cfg(test)]
mod tests {
    use super::Step::{Read as R, Write as W};
    use super::*;

    fn attempt(begin: usize, end: usize, committed: bool, steps: &[Step]) -> Attempt {
        Attempt { thread: 0, begin, end, steps: steps.to_vec(), committed }
    }

    fn good(attempts: &[Attempt]) {
        assert!(is_opaque(attempts), "{attempts:#?}");
    }

    fn broken(attempts: &[Attempt]) {
        assert!(!is_opaque(attempts), "{attempts:#?}");
    }

    #[test]
    fn one_after_the_other() {
        good(&[attempt(0, 1, true, &[R(0, 0), W(0, 1)]), attempt(2, 3, true, &[R(0, 1), W(0, 2)])]);
    }

    #[test]
    fn at_once_in_either_order() {
        good(&[attempt(0, 5, true, &[R(0, 2), W(0, 1)]), attempt(0, 5, true, &[R(0, 0), W(0, 2)])]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        good(&[attempt(0, 1, true, &[W(0, 1), R(0, 1)])]);
        broken(&[attempt(0, 1, true, &[W(0, 1), R(0, 0)])]);
    }

    #[test]
    fn a_lost_update() {
        broken(&[
            attempt(0, 5, true, &[R(0, 0), W(0, 1)]),
            attempt(0, 5, true, &[R(0, 0), W(0, 2)]),
        ]);
    }

    #[test]
    fn write_skew() {
        broken(&[
            attempt(0, 5, true, &[R(0, 0), R(1, 0), W(0, 1)]),
            attempt(0, 5, true, &[R(0, 0), R(1, 0), W(1, 1)]),
        ]);
    }

    #[test]
    fn a_zombie() {
        // The second attempt failed in the end, but has seen half of what the first wrote.
        broken(&[
            attempt(0, 5, true, &[W(0, 1), W(1, 1)]),
            attempt(0, 5, false, &[R(0, 0), R(1, 1)]),
        ]);
        good(&[
            attempt(0, 5, true, &[W(0, 1), W(1, 1)]),
            attempt(0, 5, false, &[R(0, 0), R(1, 0)]),
        ]);
    }

    #[test]
    fn a_read_of_what_was_never_committed() {
        broken(&[attempt(0, 1, false, &[W(0, 1)]), attempt(2, 3, true, &[R(0, 1)])]);
    }

    #[test]
    fn a_read_of_the_past() {
        broken(&[attempt(0, 1, true, &[W(0, 1)]), attempt(2, 3, true, &[R(0, 0)])]);
    }

    #[test]
    fn writes_seen_in_two_orders() {
        broken(&[
            attempt(0, 9, true, &[W(0, 1)]),
            attempt(0, 9, true, &[W(1, 1)]),
            attempt(0, 9, true, &[R(0, 1), R(1, 0)]),
            attempt(0, 9, true, &[R(1, 1), R(0, 0)]),
        ]);
    }

    #[test]
    fn without_common_time_a_thread_still_goes_forward() {
        let of = |thread, attempt: Attempt| Attempt { thread, ..attempt };
        let late =
            |steps| [of(0, attempt(0, 1, true, &[W(0, 1)])), of(1, attempt(2, 3, true, steps))];
        assert!(is_opaque_by_threads(&mut late(&[R(0, 0)])));
        assert!(!is_opaque_by_threads(&mut late(&[R(0, 2)])));
        let mut back = [
            of(0, attempt(0, 1, true, &[W(0, 1)])),
            of(1, attempt(2, 3, true, &[R(0, 1)])),
            of(1, attempt(4, 5, true, &[R(0, 0)])),
        ];
        assert!(!is_opaque_by_threads(&mut back));
    }
}
