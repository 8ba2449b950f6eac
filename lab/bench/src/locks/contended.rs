//! Contention: several threads use the locks during a slot of time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::arena::Arena;
use super::load::Load;
use super::processors;
use super::work::{Work, loops_per_nanosecond, now};

/// The outcome of one slot.
pub struct Outcome {
    /// The number of sections that all threads together began per second.
    pub per_second: f64,
    /// Jain's index over the threads' numbers of sections: 1 if all numbers are equal, 1/threads if
    /// one thread had all sections.
    pub jain: f64,
    /// The number of sections of the thread with the fewest divided by that of the thread with the
    /// most.
    pub least_share: f64,
    /// Samples of the durations of acquisitions, in nanoseconds.
    pub waits: Vec<u64>,
}

/// Lets threads use new locks for the length of a slot.
///
/// Threads read the stop flag inside the section, and do not count sections that begin after the
/// stop. Otherwise, if hand-overs of a lock are very slow, threads would count sections while the
/// slot is ending.
pub fn run(
    row: &dyn Fn(usize) -> Box<dyn Arena>,
    load: &Load,
    slot: Duration,
) -> anyhow::Result<Outcome> {
    let locks = row(load.locks);
    let threads = load.threads();
    let stop = AtomicBool::new(false);
    let start = Barrier::new(threads + 1);
    let loops = |nanoseconds: u32| (f64::from(nanoseconds) * loops_per_nanosecond()) as u32;
    let (section, outside) = (loops(load.section), loops(load.outside));

    let one_thread = |thread: usize| {
        let mut work = Work::new(thread, load.locks, &stop);
        work.writes = load.writes;
        work.section = section;
        work.outside = outside;
        work.reserve();
        if load.pinned() {
            processors::keep_apart(thread);
        }
        start.wait();
        let began = now();
        locks.work(&mut work);
        (began, work)
    };
    let (results, stopped) = thread::scope(|scope| {
        let one_thread = &one_thread;
        let handles: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || Sent(one_thread(thread)))).collect();
        start.wait();
        thread::sleep(slot);
        stop.store(true, Relaxed);
        let stopped = now();
        let results: Vec<_> =
            handles.into_iter().map(|h| h.join().expect("no thread panics").0).collect();
        (results, stopped)
    });

    let written: u64 = results.iter().map(|(_, work)| work.written).sum();
    let counted = locks.counted();
    anyhow::ensure!(written == counted, "{counted} sections counted, but {written} done");
    let began = results.iter().map(|(began, _)| *began).min().unwrap_or(stopped);
    let done: Vec<f64> = results.iter().map(|(_, work)| work.done as f64).collect();
    let sum: f64 = done.iter().sum();
    let squares: f64 = done.iter().map(|done| done * done).sum();
    let most = done.iter().copied().fold(0.0, f64::max);
    let least = done.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Outcome {
        per_second: sum / (stopped.saturating_sub(began).max(1) as f64 / 1e9),
        jain: if squares > 0.0 { sum * sum / (threads as f64 * squares) } else { 1.0 },
        least_share: if most > 0.0 { least / most } else { 1.0 },
        waits: results.into_iter().flat_map(|(_, work)| work.into_samples()).collect(),
    })
}

/// A thread's work, which is sent back to the thread that has started it.
struct Sent<T>(T);

// SAFETY: the pointers in the work are to the stop flag, which both threads may use, and to
// functions. All other fields can be sent.
unsafe impl Send for Sent<(u64, Work)> {}

#[cfg(test)]
mod tests {
    use super::super::{arena, load, ours, peers};
    use super::*;

    #[test]
    fn a_lock_that_does_not_exclude_is_detected() {
        #[derive(Default)]
        struct Open;
        impl arena::Lock for Open {
            type Thread = ();

            fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
                section()
            }
        }
        let row = |locks| arena::row::<Open>(locks);
        // On one processor the increment is a single instruction, which a switch of threads can't
        // split.
        if processors::count() > 1 {
            let load = Load { outside: 0, ..load::two_threads() };
            // Other processes may prevent the threads from running at the same time for a while.
            let slot = Duration::from_millis(100);
            assert!((0..20).any(|_| run(&row, &load, slot).is_err()));
        }
    }

    #[test]
    fn two_threads_share_a_fair_lock_and_the_figures_are_in_their_ranges() {
        let mut all = ours::contenders();
        all.extend(peers::contenders());
        for contender in all.iter().filter(|c| !c.starves_oversubscribed()) {
            let outcome = run(&*contender.row, &load::two_threads(), Duration::from_millis(2));
            let outcome = outcome.expect(&contender.name);
            assert!(outcome.per_second > 0.0, "{}", contender.name);
            assert!((0.5..=1.0).contains(&outcome.jain), "{}", contender.name);
            assert!((0.0..=1.0).contains(&outcome.least_share), "{}", contender.name);
        }
    }
}
