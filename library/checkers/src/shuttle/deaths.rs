//! Executions in which one thread dies, like a process that is killed. After a random number of its
//! accesses, the thread is never scheduled again, and what it has begun stays unfinished.

use std::cell::Cell;

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

std::thread_local! {
    /// Whether [`VICTIM`] has died.
    static DEAD: Cell<bool> = const { Cell::new(false) };
    /// How many threads have reached their end.
    static SURVIVED: Cell<usize> = const { Cell::new(0) };
}

/// The thread that dies. Thread 0 is the one in which the execution begins.
const VICTIM: usize = 1;
/// The thread is scheduled fewer times than this before it dies.
const LIFE: u64 = 120;
/// Whether the thread with this number has died.
pub fn is_dead(thread: usize) -> bool {
    thread == VICTIM && DEAD.get()
}

/// Reports that the calling thread has reached its end.
pub fn survived() {
    SURVIVED.set(SURVIVED.get() + 1);
}

/// A scheduler for executions of `threads` threads, one of which dies.
pub struct Deadly<S> {
    inner: S,
    threads: usize,
    /// How often the victim will still be scheduled before it dies.
    left: u64,
}

impl<S> Deadly<S> {
    /// Makes a scheduler that decides on the death, and leaves all other choices to `inner`.
    pub fn new(inner: S, threads: usize) -> Self {
        Deadly { inner, threads, left: 0 }
    }
}

impl<S: Scheduler> Scheduler for Deadly<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.inner.new_execution();
        DEAD.set(false);
        SURVIVED.set(0);
        self.left = if schedule.is_some() { self.inner.next_u64() % LIFE } else { 0 };
        schedule
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let victim = TaskId::from(VICTIM);
        if !DEAD.get() {
            let chosen = self.inner.next_task(runnable, current, is_yielding)?;
            if chosen != victim || self.left > 0 {
                self.left -= u64::from(chosen == victim);
                return Some(chosen);
            }
            DEAD.set(true);
        }
        let living: Vec<&Task> =
            runnable.iter().filter(|task| task.id() != victim).copied().collect();
        if living.is_empty() {
            // Only the dead thread has not ended.
            let survived = SURVIVED.get();
            assert!(survived + 1 == self.threads, "only {survived} threads have come to their end");
            return None;
        }
        // PCT needs `current` even if that is the dead thread, whose priority PCT may lower.
        self.inner.next_task(&living, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::SeqCst;

    use syncline::memory::{Memory, Word};

    use super::super::{Shuttle, dying};
    use super::*;
    use crate::Engine;

    /// A death may come at a point at which PCT changes priorities.
    #[test]
    fn a_thread_may_die_at_any_access() {
        dying(3_000, 3, || {
            let word = Arc::new(<Shuttle as Memory>::Word::default());
            Shuttle::run(3, move |_| {
                for _ in 0..60 {
                    word.fetch_add(1, SeqCst);
                }
                survived();
            });
        });
    }
}
