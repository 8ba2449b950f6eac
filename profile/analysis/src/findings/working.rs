//! Whether waiting threads have something to do, and how much of all threads' time is at stake.

use crate::model::{Process, Thread};

/// Threads that run for less than this share of their time have nothing to do. Time in which they were
/// ready and had no processor is not theirs.
pub const IDLE: f64 = 0.1;

/// The share of the threads' time, if it is this one at least.
pub fn share(process: &Process, seconds: f64, least: f64) -> Option<f64> {
    let share = seconds / process.thread_seconds;
    (process.thread_seconds > 0.0 && share >= least).then_some(share)
}

/// The share of their time that these threads are on a processor and do not spin, without that in which
/// they were ready and had no processor; `None` if that is not known of all of them.
pub fn running(process: &Process, threads: &[usize]) -> Option<f64> {
    let threads = || threads.iter().map(|&thread| &process.threads[thread]);
    let seconds: f64 = threads().map(could_run).sum();
    let cpu: Option<f64> = threads().map(|t| Some((t.cpu? - t.spun).max(0.0))).sum();
    cpu.filter(|_| seconds > 0.0).map(|cpu| (cpu / seconds).min(1.0))
}

/// The time in which a thread was not kept from running by others.
pub fn could_run(thread: &Thread) -> f64 {
    (thread.seconds - thread.ready.unwrap_or(0.0)).max(0.0)
}

/// The share of their time that these threads work, without that in which they were ready and had no
/// processor; `None` if no thread is known.
pub fn worked(process: &Process, threads: impl Iterator<Item = usize> + Clone) -> Option<f64> {
    let threads = || threads.clone().map(|thread| &process.threads[thread]);
    let seconds: f64 = threads().map(could_run).sum();
    let worked: f64 = threads().map(|thread| (thread.worked() - thread.slept()).max(0.0)).sum();
    (seconds > 0.0).then(|| (worked / seconds).min(1.0))
}
