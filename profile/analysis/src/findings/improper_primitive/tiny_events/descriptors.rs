//! Threads that hand small things to each other through an event counter (`eventfd`), a pipe or a pair
//! of Unix sockets. The recorder does not see these calls. The sampler sees that a thread sleeps in
//! one, and that the process has both ends.

use super::short_sleeps::ShortSleeps;
use crate::model::{Finding, InCall, Process};
use crate::options::Thresholds;

/// These sleeps must be at least this share of the time that their threads are in the kernel: other
/// sleeps may be for a network, and as short.
const MOSTLY: f64 = 0.5;

/// The finding about threads that sleep for what other threads of the process write, if sleeping and
/// waking takes much of their processor time.
pub fn find(process: &Process, thresholds: &Thresholds) -> Option<Finding> {
    let sleeps: Vec<&InCall> = process.inner.iter().collect();
    let short = ShortSleeps::of(process, &sleeps, thresholds)?;
    let kernel = |&thread: &usize| process.threads[thread].times.kernel;
    let kernel: f64 = short.threads.iter().map(kernel).sum();
    let first = sleeps.first().filter(|_| short.slept >= MOSTLY * kernel)?;
    Some(Finding {
        title: "Threads sleep for each small thing that they write to each other".to_owned(),
        advice: format!(
            "The threads sleep in {}, on an event counter, a pipe or a socket of which this process \
             has both ends. Hand over several things at a time: larger messages or pieces of work, \
             or a queue with more room, so that a thread finds the next thing before it sleeps.",
            first.call
        ),
        ..short.draft(first, "threads' time asleep for each other")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::process;

    /// Two threads that run for 2.6 of ten seconds in all, sleep for each other for `inner` seconds
    /// each, are in the kernel for `kernel` seconds each, and get a processor `slices` times in all.
    fn found(slices: u64, inner: f64, kernel: f64) -> Option<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("pass", 2, 10.0);
        let stack = drawn.stack("nn_efd_wait");
        for thread in [first, first + 1] {
            drawn.threads[thread].cpu = Some(1.3);
            drawn.threads[thread].slices = Some(slices / 2);
            drawn.threads[thread].times.kernel = kernel;
            drawn.inner.push(InCall {
                call: "poll".to_owned(),
                place: "nn_efd_wait+0x3b".to_owned(),
                seconds: inner,
                threads: vec![thread],
                stack,
            });
        }
        find(&drawn, &Thresholds::default())
    }

    /// Modelled on nanomsg with a buffer of one message.
    #[test]
    fn threads_that_wake_each_other_through_descriptors_are_found() {
        let finding = found(160_000, 5.0, 6.0).expect("tiny");
        assert_eq!(finding.evidence[0].value, 16_000.0);
        assert!(finding.advice.contains("sleep in poll"), "{}", finding.advice);
        assert!(found(40_000, 5.0, 6.0).is_none(), "sleeping takes 0.2 s of 2.6");
        assert!(found(160_000, 0.9, 1.0).is_none(), "they hardly sleep");
        assert!(found(160_000, 3.9, 8.0).is_none(), "they mostly sleep for others");
    }
}
