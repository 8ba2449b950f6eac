//! How much of their time threads work, and which share of all threads' time a number of seconds
//! is.

use crate::model::{Process, Thread};

/// Threads that run for less than this share of their time are idle. Time in which they were ready
/// and had no processor does not count as their time.
pub const IDLE: f64 = 0.1;

/// `seconds` as a share of all threads' time; `None` if the share is less than `least`.
pub fn share(process: &Process, seconds: f64, least: f64) -> Option<f64> {
    let share = seconds / process.thread_seconds;
    (process.thread_seconds > 0.0 && share >= least).then_some(share)
}

/// The share of these threads' time in which they are on a processor and do not spin. Time in which
/// they were ready and had no processor does not count. `None` if the processor time of one of them
/// is not known, or if no time is left.
pub fn running(process: &Process, threads: &[usize]) -> Option<f64> {
    let threads = || threads.iter().map(|&thread| &process.threads[thread]);
    let seconds: f64 = threads().map(could_run).sum();
    let cpu: Option<f64> = threads().map(|t| Some((t.cpu? - t.spun).max(0.0))).sum();
    cpu.filter(|_| seconds > 0.0).map(|cpu| (cpu / seconds).min(1.0))
}

/// Seconds of a thread's life, without those in which it was ready and had no processor.
pub fn could_run(thread: &Thread) -> f64 {
    (thread.seconds - thread.ready.unwrap_or(0.0)).max(0.0)
}

/// The share of these threads' time in which they work, that is, neither wait nor sleep. Time in
/// which they were ready and had no processor does not count. `None` if no time is left.
pub fn worked(process: &Process, threads: impl Iterator<Item = usize> + Clone) -> Option<f64> {
    let threads = || threads.clone().map(|thread| &process.threads[thread]);
    let seconds: f64 = threads().map(could_run).sum();
    let worked: f64 = threads().map(|thread| (thread.worked() - thread.slept()).max(0.0)).sum();
    (seconds > 0.0).then(|| (worked / seconds).min(1.0))
}
