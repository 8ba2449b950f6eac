//! Executions in which one thread dies, as a process does that is killed: from some access on, which
//! is drawn, it is never scheduled again, and nothing that it has begun goes on.

use std::cell::Cell;

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

std::thread_local! {
    /// Whether the thread that dies has died.
    static DEAD: Cell<bool> = const { Cell::new(false) };
    /// How many threads have come to their end.
    static SURVIVED: Cell<usize> = const { Cell::new(0) };
}

/// The thread that dies; the first one is the execution's own.
const VICTIM: usize = 1;
/// It dies before it has been scheduled this many times.
const LIFE: u64 = 120;
/// Whether a thread has died.
pub fn is_dead(thread: usize) -> bool {
    thread == VICTIM && DEAD.get()
}

/// Says that the calling thread has come to its end.
pub fn survived() {
    SURVIVED.set(SURVIVED.get() + 1);
}

/// A scheduler of executions of so many threads, one of which dies.
pub struct Deadly<S> {
    inner: S,
    threads: usize,
    /// How often the victim is scheduled still.
    left: u64,
}

impl<S> Deadly<S> {
    /// One that draws what is left to it as this one does.
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
            // Only the end of the dead thread is waited for.
            let survived = SURVIVED.get();
            assert!(survived + 1 == self.threads, "only {survived} threads have come to their end");
            return None;
        }
        self.inner.next_task(&living, current.filter(|id| *id != victim), is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
