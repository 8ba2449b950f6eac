//! Threads of OpenMP that sleep between short parallel regions.
//!
//! The threads of OpenMP's runtime sleep inside its library until a region begins. The first thread
//! sleeps there until all others have ended the region. These sleeps make no call that the recorder
//! sees.

use super::short_sleeps::ShortSleeps;
use crate::model::{Finding, InCall, Process, is_openmp};
use crate::options::Thresholds;

/// The finding about threads that sleep between regions, if sleeping and waking takes much of their
/// processor time.
pub fn find(process: &Process, thresholds: &Thresholds) -> Option<Finding> {
    let sleeps: Vec<&InCall> =
        process.asleep.iter().filter(|asleep| process.sleeps_for_openmp(asleep)).collect();
    let short = ShortSleeps::of(process, &sleeps, thresholds)?;
    let first = sleeps.iter().find(|asleep| is_outside(process, asleep)).or(sleeps.first())?;
    Some(Finding {
        title: "OpenMP's parallel regions are shorter than their threads' sleep is worth"
            .to_owned(),
        advice: "Give each parallel region more work: one region around several loops, or larger \
                 pieces of data at a time. For so little work, one thread may be quicker \
                 (OMP_NUM_THREADS, or the clause `if`)."
            .to_owned(),
        ..short.draft(first, "threads' time asleep between regions")
    })
}

/// Whether the call site of a sleep is in the program, and not in the library of the runtime: that
/// is the first thread, at a region.
fn is_outside(process: &Process, asleep: &InCall) -> bool {
    let place = process.stacks[asleep.stack].place.and_then(|frame| process.frames[frame].module);
    place.is_some_and(|module| !is_openmp(&process.modules[module]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Drawn, process};

    /// Two threads that run for `worked` seconds in all, in ten seconds, sleep for `slept` seconds
    /// in all in a library, and get a processor `slices` times in all.
    fn regions(library: &str, slices: u64, worked: f64, slept: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("gomp_thread_start", 2, 10.0);
        let library = drawn.module(library);
        for (place, thread) in [("gomp_team_start", first), ("flow at effects.c:300", first + 1)] {
            let stack = drawn.stack(place);
            drawn.calls_into(stack, library, &["gomp_team_barrier_wait_end"]);
            drawn.asleep.push(InCall {
                call: "futex".to_owned(),
                place: place.to_owned(),
                seconds: slept / 2.0,
                threads: vec![thread],
                stack,
            });
            drawn.threads[thread].cpu = Some(worked / 2.0);
            drawn.threads[thread].slices = Some(slices / 2);
        }
        drawn
    }

    fn found(drawn: &Drawn) -> Option<Finding> {
        find(drawn, &Thresholds::default())
    }

    /// Modelled on SoX with small buffers.
    #[test]
    fn regions_with_less_work_than_sleep_are_found() {
        let finding = found(&regions("/lib/libgomp.so.1", 1_000_000, 12.0, 6.0)).expect("tiny");
        assert_eq!(finding.evidence[0].value, 100_000.0);
        let long = regions("/lib/libgomp.so.1", 200_000, 12.0, 6.0);
        assert!(found(&long).is_none(), "sleeping takes a second of twelve");
        let rare = regions("/lib/libgomp.so.1", 9_000, 0.1, 19.0);
        assert!(found(&rare).is_none(), "900 times a second");
        let awake = regions("/lib/libgomp.so.1", 1_000_000, 12.0, 1.9);
        assert!(found(&awake).is_none(), "they hardly sleep");
        assert!(found(&regions("/lib/libpool.so", 1_000_000, 12.0, 6.0)).is_none());
    }

    #[test]
    fn a_kernel_that_counts_no_slices_shows_nothing() {
        let mut drawn = regions("/lib/libgomp.so.1", 1_000_000, 12.0, 6.0);
        for thread in &mut drawn.threads {
            thread.slices = None;
        }
        assert!(found(&drawn).is_none());
    }
}
