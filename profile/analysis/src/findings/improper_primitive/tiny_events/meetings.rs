//! Threads that meet more often than their work is worth.
//!
//! At a barrier, all threads but the last sleep in each round, however short the wait is. The
//! barrier may be the C library's, or one that a program made from a condition. So this rule
//! considers the share of the processor time that goes into sleeping and waking.

use syncline_recording::Class;

use super::finding::{FLOOR, Said, finding};
use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::Family;
use crate::findings::meeting::Meeting;
use crate::gain::WAKE_UP;
use crate::model::{Finding, Lock, Process};
use crate::options::Thresholds;

/// Sleeping and waking at a barrier must take at least this share of the threads' processor time.
pub const MUCH: f64 = 0.1;

/// The findings about barriers at which threads meet too often.
pub fn find(process: &Process, families: &[Family], thresholds: &Thresholds) -> Vec<Finding> {
    let of_conditions = families.iter().filter_map(|family| Often::at_condition(process, family));
    of_conditions
        .chain(Often::at_barriers(process))
        .filter_map(|meeting| meeting.finding(process, thresholds))
        .collect()
}

/// Threads that meet at a barrier, possibly too often.
struct Often<'a> {
    /// The locks of a barrier that is made from a condition; `None` for the C library's and
    /// OpenMP's.
    family: Option<&'a Family<'a>>,
    /// The call sites where threads wait for the others.
    sites: Vec<usize>,
    rounds: u64,
    /// How often threads slept there. At a barrier of the C library, the last thread to arrive does
    /// not sleep.
    sleeps: u64,
    /// How many threads meet.
    threads: usize,
}

impl<'a> Often<'a> {
    fn at_condition(process: &'a Process, family: &'a Family<'a>) -> Option<Often<'a>> {
        let meeting = Meeting::at(process, family)?;
        let waits = process.locks[meeting.condition].uses(Class::Wait).map(|used| used.site);
        let sites: Vec<usize> = waits.collect();
        Some(Often {
            family: Some(family),
            sleeps: sites.iter().map(|&site| process.sites[site].figures.waits).sum(),
            sites,
            rounds: meeting.rounds,
            threads: meeting.threads,
        })
    }

    /// All barriers of the C library and of OpenMP together: threads that work in phases often have
    /// two. `None` if there is no barrier.
    fn at_barriers(process: &Process) -> Option<Often<'_>> {
        let all = process.sites.iter().enumerate();
        let waits = all
            .filter(|(_, site)| site.op.primitive().is_barrier() && site.op.class() == Class::Wait);
        let barriers = process.locks.iter().filter(|lock| lock.primitive.is_barrier());
        let threads = |lock: &Lock| lock.threads.len().max(1);
        let calls: u64 = barriers.clone().map(|lock| lock.figures.calls).sum();
        let rounds: u64 =
            barriers.clone().map(|lock| lock.figures.calls / threads(lock) as u64).sum();
        Some(Often {
            family: None,
            sites: waits.map(|(number, _)| number).collect(),
            rounds,
            sleeps: calls - rounds,
            threads: barriers.map(threads).max()?,
        })
    }

    /// The finding, if sleeping and waking takes much of the threads' processor time.
    fn finding(self, process: &Process, thresholds: &Thresholds) -> Option<Finding> {
        let threads = process.threads_at(self.sites.iter().copied());
        let worked: f64 = threads.into_iter().map(|thread| process.threads[thread].ran()).sum();
        let sleeps = self.sleeps as f64;
        let per_second = sleeps / process.seconds;
        let applies = per_second > thresholds.acquisitions_per_second
            && per_second * WAKE_UP >= FLOOR
            && sleeps * WAKE_UP >= MUCH * worked;
        if !applies {
            return None;
        }
        let outnumbered = process.processors.is_some_and(|processors| processors < self.threads);
        let said = Said {
            title: "Threads meet at a barrier more often than their work is worth",
            evidence: vec![
                rate("rounds", self.rounds as f64 / process.seconds),
                count("threads that meet", self.threads as u64),
                seconds("work of a thread between two sleeps", worked / sleeps),
                share(
                    "time to put threads to sleep and wake them (estimate)",
                    per_second * WAKE_UP,
                ),
            ],
            advice: format!(
                "Give each thread more work between two rounds, or use fewer threads for so \
                 little work{}.",
                if outnumbered {
                    ": there are more threads than processors, and each round waits for all of them"
                } else {
                    ""
                }
            ),
        };
        let family: Vec<&Family> = self.family.into_iter().collect();
        Some(finding(process, self.sites, &family, said))
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Family::all(drawn), &Thresholds::default())
    }

    /// The findings if four threads meet in `rounds` rounds in ten seconds, and have `worked`
    /// seconds of processor time in all.
    fn meet(rounds: u64, worked: f64) -> Vec<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("work", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:10");
        drawn.uses(lock, arrive, Use { calls: 4 * rounds, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "meet at barrier.c:14");
        let (waits, waited) = (3 * rounds, 40.0 - worked);
        drawn.uses(condition, wait, Use { calls: waits, waits, waited, ..Use::default() });
        let wake = drawn.site(Op::CondBroadcast, "meet at barrier.c:20");
        drawn.uses(condition, wake, Use { calls: rounds, ..Use::default() });
        for site in [arrive, wait, wake] {
            drawn.sites[site].threads = 4;
            drawn.by_thread(site, (first..first + 4).map(|thread| (thread, rounds)));
        }
        for thread in first..first + 4 {
            drawn.threads[thread].cpu = Some(worked / 4.0);
        }
        found(&drawn)
    }

    #[test]
    fn rounds_of_a_barrier_with_less_work_than_sleep_are_found() {
        let findings = meet(10_000, 1.4);
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "meet at barrier.c:14"));
        assert!(findings[0].title.contains("barrier"), "{}", findings[0].title);
        assert!(
            findings[0].advice.contains("more threads than processors"),
            "{}",
            findings[0].advice
        );
        assert!(meet(10_000, 1.6).is_empty(), "sleeping takes 0.15 seconds of it");
        assert!(meet(3_000, 0.1).is_empty(), "900 sleeps a second");
    }

    /// The findings if four threads meet at two barriers of the C library in turn, in each of
    /// `rounds` rounds, and have `worked` seconds of processor time in all.
    fn meet_at_barriers(rounds: u64, worked: f64) -> Vec<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("perform", 4, 10.0);
        let wait = drawn.site(Op::BarrierWait, "wait at engine.c:10");
        for name in ["begin", "end"] {
            let barrier = drawn.lock(Primitive::Barrier, name);
            let (waits, waited) = (4 * rounds, (40.0 - worked) / 2.0);
            drawn.uses(barrier, wait, Use { calls: waits, waits, waited, ..Use::default() });
            drawn.locks[barrier].threads = (first..first + 4).map(|t| (t, rounds)).collect();
        }
        drawn.by_thread(wait, (first..first + 4).map(|t| (t, 2 * rounds)));
        for thread in first..first + 4 {
            drawn.threads[thread].cpu = Some(worked / 4.0);
        }
        found(&drawn)
    }

    #[test]
    fn tiny_rounds_of_the_c_librarys_barriers_are_found() {
        let findings = meet_at_barriers(10_000, 2.9);
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "wait at engine.c:10"));
        assert_eq!((findings[0].evidence[0].value, findings[0].evidence[1].value), (2_000.0, 4.0));
        assert!(meet_at_barriers(10_000, 3.1).is_empty(), "sleeping takes 0.3 seconds of it");
        assert!(meet_at_barriers(1_600, 0.1).is_empty(), "960 sleeps a second");
    }
}
