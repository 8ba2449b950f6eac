//! A loop that sleeps and looks again, while the end of the run waits for it.
//!
//! The loop notices the event that it waits for half a sleep too late on average, and the whole
//! program stands still in the meantime. The rule requires three facts: the sleeps are much of the
//! critical path, no other thread runs during much of them, and the function that sleeps does so in
//! a loop. A sleep that is a part of a piece of work (for a device, say) is not in a loop of its own
//! function. If other threads run while a thread sleeps in such a loop, the sleeping thread waits
//! for them, and would wait as long without the loop. There is one exception: if the threads that
//! sleep in the loop are also those that run meanwhile, one at a time, they poll a lock, such as a
//! database's or a lock file. If a thread holds a lock while it sleeps, [`Rule::SleepingHolder`]
//! applies instead.
//!
//! A few long sleeps may be a timer's. But if all others end during the last of them, the thread waits
//! for that, in a loop or by a pause that is always long enough. Threads that a timer stops end after
//! its sleep.

use crate::findings::evidence::{count, rate, seconds, share};
use crate::model::{Finding, OnPath, PathPart, Process, Remedy, Rule};
use crate::options::Thresholds;

/// If the mean sleep is longer than this, in seconds, the thread is a timer. A sleep of 100 ms lasts
/// a little longer.
const LONGEST: f64 = 0.12;
/// Threads that ended are noticed late if this share of the critical path is left of the sleep.
const LATE: f64 = 0.15;
/// Threads that sleep at one call site take turns if they spend at least this share of all threads'
/// processor time.
const ALL_WORK: f64 = 0.9;
/// Threads take turns if they have at most this many processors on average.
const ONE_AT_A_TIME: f64 = 1.1;
/// The sleeps of threads that take turns must be at least this share of the critical path.
const MOST: f64 = 0.5;

/// The finding about the call site where a loop sleeps and the run waits for it, if there is one.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    finding(process).into_iter().collect()
}

/// What the sleeping threads wait for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    /// Their turn.
    Turn,
    /// The end of all other threads.
    Ends,
    /// Something else.
    Other,
}

fn finding(process: &Process) -> Option<Finding> {
    let turns = turns(process).map(|slept| (slept, For::Turn));
    let often = || process.held_up_by_sleep().map(|slept| (slept, For::Other));
    let found = turns.or_else(often).filter(|(slept, _)| mean(slept) <= LONGEST);
    let (slept, what) = found.or_else(|| ends(process).map(|slept| (slept, For::Ends)))?;
    let number = slept.site?;
    let site = &process.sites[number];
    let with_lock = process.held_while_asleep(number).is_some();
    let polls = site.repeats == Some(true) || what == For::Ends;
    if !polls || with_lock {
        return None;
    }
    Some(Finding {
        rule: Rule::PollingSleep,
        title: match what {
            For::Turn => "Threads take turns, and sleep until it is their turn",
            For::Ends => "A thread sleeps until the others have ended, and notices it late",
            For::Other => {
                "A thread sleeps until what it waits for is there, and the run waits for it"
            }
        }
        .to_owned(),
        place: site.place.clone(),
        sites: vec![number],
        locks: Vec::new(),
        evidence: vec![
            share("share of the critical path", process.critical_path.share(slept)),
            share("part of it while all other threads waited", process.critical_path.alone(number)),
            share("processor time of all threads", process.ran() / process.seconds),
            rate("sleeps", site.figures.calls as f64 / process.seconds),
            seconds("mean sleep", mean(slept)),
            count("threads", slept.threads.len() as u64),
        ],
        advice: match what {
            For::Turn => {
                "Only one thread works at a time, as under a lock, and the others sleep and look \
                 again. Do more in each turn (one transaction for many changes), give each thread \
                 its own part (file, table, database), or wait for the turn itself: a mutex wakes \
                 the next thread at once."
            }
            For::Ends => {
                "Join the threads, or let the last of them signal a condition: then the wait ends \
                 when they do, and not at the end of a sleep."
            }
            For::Other => {
                "Wait for the event itself: use a condition variable, a semaphore, a future, or \
                 poll on the file descriptor. An event during a sleep is noticed only when the \
                 sleep ends, half a sleep too late on average, and nothing else runs meanwhile. If \
                 the pause is wanted, as between attempts, make it shorter."
            }
        }
        .to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    })
}

/// The mean length of the sleeps of a part of the critical path, in seconds.
fn mean(slept: &PathPart) -> f64 {
    slept.seconds / slept.pieces.max(1) as f64
}

/// The sleeps of threads that take turns: at one call site, several threads sleep for most of the
/// critical path, and these threads do nearly all work, one at a time.
fn turns(process: &Process) -> Option<&PathPart> {
    let path = &process.critical_path;
    let slept = path.parts.first().filter(|part| part.kind == OnPath::Sleep)?;
    let sleepers = process.threads_at(slept.site.into_iter());
    let ran: f64 = sleepers.iter().map(|&thread| process.threads[thread].ran()).sum();
    let all_work = ran >= ALL_WORK * process.ran();
    let one_at_a_time = process.ran() <= ONE_AT_A_TIME * process.seconds;
    // The path passes between threads during a sleep if another thread had the turn.
    let several = sleepers.len() > 1 && slept.threads.len() > 1;
    (several && all_work && one_at_a_time && path.share(slept) >= MOST).then_some(slept)
}

/// The sleeps of one thread on the critical path, if all other threads had ended, some of them during
/// its last sleep there, and the rest of that sleep was much of the path.
fn ends(process: &Process) -> Option<&PathPart> {
    let path = &process.critical_path;
    let mut asleep = path.parts.iter().filter(|part| part.kind == OnPath::Sleep);
    asleep.find(|part| {
        let &[sleeper] = &part.threads[..] else { return false };
        let spans = process.timeline.threads.get(sleeper).into_iter().flatten();
        let mut spans = spans.rev().filter(|span| span.site == part.site);
        let Some(last) = spans.next() else { return false };
        let others = process.threads.iter().enumerate().filter(|&(other, _)| other != sleeper);
        let left = others.map(|(_, it)| if it.ended { it.started + it.seconds } else { f64::MAX });
        let left = left.fold(0.0, f64::max);
        left > last.began && last.ended - left >= LATE * path.seconds
    })
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, process, wait};
    use crate::model::{HolderTime, Span};

    /// Two threads in a run of ten seconds. One of them sleeps `sleeps` times, for `seconds` in
    /// all, and has a processor for `ran` seconds.
    fn slept(sleeps: u64, seconds: f64, ran: f64, repeats: Option<bool>) -> Drawn {
        let mut drawn = process(10.0, 2);
        let asks = drawn.threads("ask", 1, 10.0);
        let time = drawn.lock(Primitive::Sleep, "sleep");
        let site = drawn.site(Op::Sleep, "ask at client.c:10");
        let used = Use { calls: sleeps, waits: sleeps, waited: seconds, ..Use::default() };
        drawn.uses(time, site, used);
        drawn.sites[site].repeats = repeats;
        for thread in &mut drawn.threads {
            thread.cpu = Some(0.0);
        }
        drawn.threads[asks].cpu = Some(ran);
        drawn.critical_path.seconds = 10.0;
        drawn.critical_path.parts = vec![PathPart {
            kind: OnPath::Sleep,
            site: Some(site),
            threads: vec![asks],
            seconds,
            pieces: sleeps,
        }];
        drawn
    }

    fn slept_in_loop() -> Drawn {
        slept(8_000, 8.0, 0.5, Some(true))
    }

    fn places(drawn: &Drawn) -> Vec<String> {
        let found = find(drawn, &Thresholds::default());
        found.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_sleeping_poll_loop_on_the_critical_path_is_found() {
        assert_eq!(places(&slept(8_000, 8.0, 0.5, Some(true))), ["ask at client.c:10"]);
        assert_eq!(places(&slept(8_000, 8.0, 4.9, Some(true))).len(), 1);
        assert!(places(&slept(8_000, 8.0, 5.1, Some(true))).is_empty(), "others run meanwhile");
        assert!(places(&slept(19, 8.0, 0.5, Some(true))).is_empty(), "seldom");
        assert!(places(&slept(66, 8.0, 0.5, Some(true))).is_empty(), "more than 0.12 s each");
    }

    /// Modelled on libosmium, whose workers work while the thread that fills their queue sleeps, and
    /// then wait for it.
    #[test]
    fn a_sleep_while_all_others_wait_is_found_though_they_run_at_other_times() {
        let alone = |seconds| {
            let mut drawn = slept(800, 8.0, 9.0, Some(true));
            drawn.critical_path.alone = [(0, seconds)].into();
            places(&drawn).len()
        };
        assert_eq!((alone(1.4), alone(1.5)), (0, 1));
    }

    /// Modelled on DiskCache, whose threads sleep until they get SQLite's lock for writing.
    #[test]
    fn sleepers_that_do_all_work_one_at_a_time_take_turns() {
        // Eight threads of which each runs for `ran` seconds, and a thread that runs for `other`.
        let turns = |ran, other| {
            let mut drawn = slept(400, 5.5, 0.0, Some(true));
            let first = drawn.threads("put", 8, 10.0);
            for thread in first..first + 8 {
                drawn.threads[thread].cpu = Some(ran);
            }
            drawn.threads[0].cpu = Some(other);
            drawn.by_thread(0, (first..first + 8).map(|thread| (thread, 50)));
            drawn.critical_path.parts[0].threads = (first..first + 8).collect();
            let found = find(&drawn, &Thresholds::default());
            found.first().is_some_and(|finding| finding.title.contains("take turns"))
        };
        assert!(turns(1.0, 0.0));
        assert!(!turns(1.0, 1.0), "they sleep until another thread has done something");
        assert!(!turns(1.5, 0.0), "several at a time");
    }

    /// Modelled on C-Thread-Pool, which sleeps for a second, and then looks whether its threads have
    /// ended.
    #[test]
    fn threads_that_ended_during_a_long_sleep_are_noticed_late() {
        let late = |ended: bool, left: f64| {
            let mut drawn = slept(2, 4.0, 0.5, Some(false));
            drawn.timeline.threads = vec![Vec::new(); drawn.threads.len()];
            let asleep = |began| Span { site: Some(0), ..wait(Op::Sleep, began, began + 2.0) };
            let sleeper = drawn.critical_path.parts[0].threads[0];
            drawn.timeline.threads[sleeper] = vec![asleep(5.0), asleep(7.5)];
            drawn.threads[0].ended = ended;
            drawn.threads[0].seconds = left;
            find(&drawn, &Thresholds::default()).first().map(|finding| finding.title.clone())
        };
        let title = late(true, 7.6).expect("a finding");
        assert!(title.contains("the others have ended"), "{title}");
        assert_eq!(late(true, 8.1), None, "1.4 of 10 s late");
        assert_eq!(late(true, 7.4), None, "before the sleep");
        assert_eq!(late(true, 9.6), None, "after it, as a timer stops threads");
        assert_eq!(late(false, 7.6), None, "still there");
        assert!(places(&slept(2, 4.0, 0.5, Some(true))).is_empty(), "a timer");
    }

    #[test]
    fn a_sleep_between_work_has_no_finding() {
        assert!(places(&slept(8_000, 8.0, 0.5, Some(false))).is_empty());
        assert!(places(&slept(8_000, 8.0, 0.5, None)).is_empty(), "nobody knows");
    }

    #[test]
    fn a_sleep_with_a_lock_held_has_no_finding() {
        let holds = |seconds, slept, place: &str| {
            let mut drawn = slept_in_loop();
            let lock = drawn.lock(Primitive::Mutex, "journal");
            let taken = drawn.site(Op::MutexLock, place);
            drawn.uses(lock, taken, Use { calls: 8_000, ..Use::default() });
            drawn.sites[taken].figures.holder =
                HolderTime { looked_at: 100, seconds, off_cpu: seconds, slept, preempted: 0 };
            places(&drawn).len()
        };
        assert_eq!(holds(0.1, 100, "ask at client.c:9"), 0);
        assert_eq!(holds(0.01, 100, "ask at client.c:9"), 1, "held for less than a sleep");
        assert_eq!(holds(0.1, 40, "ask at client.c:9"), 1, "not held during most sleeps");
        assert_eq!(holds(0.1, 100, "tell at client.c:30"), 1, "another function");
    }

    #[test]
    fn a_sleep_off_the_critical_path_has_no_finding() {
        let mut drawn = slept(8_000, 8.0, 0.5, Some(true));
        let running = PathPart {
            kind: OnPath::Running,
            site: None,
            seconds: 9.0,
            ..drawn.critical_path.parts[0].clone()
        };
        drawn.critical_path.parts.insert(0, running);
        assert!(places(&drawn).is_empty());
    }
}
