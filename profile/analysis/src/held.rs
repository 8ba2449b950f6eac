//! How long locks are held, and whether their holders have processors.

use syncline_recording::Op;

use crate::model::{HolderTime, Lock, Process, SiteUse, Thread};

/// Seconds by which the measured time of a hold is too long, since the clock is read within the
/// hold: a section of two instructions is recorded with this length.
const CLOCK: f64 = 10e-9;

/// The mean seconds of a hold without [`CLOCK`], if `calls` holds were measured to take `held`
/// seconds in all; 0 if there are no calls.
pub fn mean_held(held: f64, calls: u64) -> f64 {
    if calls == 0 { 0.0 } else { (held / calls as f64 - CLOCK).max(0.0) }
}

/// With fewer sampled holds at a call site, their mean length says little.
const FEWEST_SAMPLED: u64 = 20;

/// The seconds for which a lock is held at a call site. If threads waited longer for processors than
/// they had them, other programs ran, and a few of the timed holds, each of which stands for many,
/// are as long as the holder had no processor. Then the sampled holds count, without such times.
fn seconds_held(process: &Process, use_: &SiteUse) -> f64 {
    let mean = mean_held(use_.held, use_.calls);
    let holder = &process.sites[use_.site].figures.holder;
    let interrupted = holder.preempted > holder.slept;
    let is_crowded = process.times.ready > process.times.running;
    let mean = match is_crowded && holder.looked_at >= FEWEST_SAMPLED {
        true => {
            let lost = if interrupted { holder.off_cpu } else { 0.0 };
            mean.min((holder.seconds - lost).max(0.0) / holder.looked_at as f64)
        }
        false => mean,
    };
    mean * use_.calls as f64
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
    let held: f64 = alone.map(|use_| seconds_held(process, use_)).sum();
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

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Use, process};

    /// Modelled on dlib's pool of threads beside other programs: its lock is held for 5 µs, but a few
    /// timed holds were interrupted for milliseconds.
    #[test]
    fn holds_that_other_programs_interrupted_are_not_work() {
        let share = |ready: f64, looked_at, slept| {
            let mut drawn = process(10.0, 2);
            let workers = drawn.threads("work", 2, 10.0);
            for (thread, cpu) in drawn.threads.iter_mut().zip([0.0, 1.2, 1.2]) {
                thread.cpu = Some(cpu);
            }
            let lock = drawn.lock(Primitive::Mutex, "pool");
            let site = drawn.site(Op::MutexLock, "run at pool.h:9");
            drawn.uses(lock, site, Use { calls: 1_000, held: 2.4, ..Use::default() });
            drawn.by_thread(lock, [(workers, 500), (workers + 1, 500)]);
            let seconds = 5e-6 * looked_at as f64;
            drawn.sites[site].figures.holder =
                HolderTime { looked_at, seconds, off_cpu: 0.2 * seconds, slept, preempted: 5 };
            (drawn.times.running, drawn.times.ready) = (2.4, ready);
            share_of_work(&drawn, &drawn.locks[lock])
        };
        let close = |share: f64, to: f64| (share / to - 1.0).abs() < 0.01;
        assert!(close(share(6.0, 31, 0), 4e-3 / 2.4), "{}", share(6.0, 31, 0));
        assert!(close(share(6.0, 31, 6), 5e-3 / 2.4), "{}: they sleep", share(6.0, 31, 6));
        assert!(close(share(6.0, 19, 0), 1.0), "few samples");
        assert!(close(share(2.0, 31, 0), 1.0), "threads mostly had a processor");
    }
}
