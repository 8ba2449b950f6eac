//! How long locks are held, and whether their holders have processors.

use syncline_recording::Op;

use crate::model::{HolderTime, Lock, Process, Thread};

/// Seconds by which the measured time of a hold is too long, since the clock is read within the
/// hold: a section of two instructions is recorded with this length.
const CLOCK: f64 = 10e-9;

/// The mean seconds of a hold without [`CLOCK`], if `calls` holds were measured to take `held`
/// seconds in all; 0 if there are no calls.
pub fn mean_held(held: f64, calls: u64) -> f64 {
    if calls == 0 { 0.0 } else { (held / calls as f64 - CLOCK).max(0.0) }
}

/// The time for which threads hold a lock, as a share of the working time of all threads that take
/// it. Holds to read do not count. The time of other threads counts only if it is unknown which
/// threads take the lock.
pub fn share_of_work(process: &Process, lock: &Lock) -> f64 {
    let worked = |thread: &Thread| {
        let alive = thread.seconds - thread.waiting.locks - thread.waiting.events;
        thread.cpu.unwrap_or(alive).max(0.0)
    };
    let takers = lock.threads.iter().map(|&(thread, _)| &process.threads[thread]);
    let worked: f64 = match lock.threads[..] {
        [] => process.threads.iter().map(worked).sum(),
        _ => takers.map(worked).sum(),
    };
    // Readers that hold a lock together do not exclude each other.
    let alone = lock.sites.iter().filter(|use_| !is_to_read(use_.op));
    let held: f64 = alone.map(|use_| mean_held(use_.held, use_.calls) * use_.calls as f64).sum();
    if worked > 0.0 { (held / worked).min(1.0) } else { 0.0 }
}

/// The share of the time held in which the holders had a processor, in the sampled holds; 1 if no
/// hold was sampled.
pub fn on_processor(process: &Process, sites: &[usize]) -> f64 {
    let holders = || sites.iter().map(|&site| &process.sites[site].figures.holder);
    let seconds = holders().map(|holder| holder.seconds).sum();
    let off_cpu = holders().map(|holder| holder.off_cpu).sum();
    1.0 - HolderTime { seconds, off_cpu, ..HolderTime::default() }.off_cpu_share()
}

/// Whether an operation takes a lock to read, so that several threads can hold it at a time.
pub fn is_to_read(op: Op) -> bool {
    matches!(op, Op::RwlockRead | Op::RwlockTimedRead | Op::RwlockTryRead)
}
