//! Futexes of the program's own, in which threads wait much and often. Rust's `std` and
//! `parking_lot`, `std::atomic::wait` and hand-written locks take a free lock without any
//! call, so only threads that have to wait are seen: there are no acquisitions to compare the waits
//! with, no holders and no sections.
//!
//! Workers that have nothing to do also wait in a futex. Threads with nothing to do wait long, and
//! are woken seldom and by other threads. Threads that contend have short and frequent waits; or
//! each waiter also wakes other threads, since it releases the lock after its wait, and there are
//! fewer futexes than threads. If the names of functions say that it is a lock, waits of any length
//! count that delay the run.
//!
//! If a program has many locks, such as one for each table, threads occasionally wait for one of
//! them too, above all while a holder has lost its processor. So if there are more futexes than
//! threads, the waiting in a single futex has to reach the threshold. (A lock may let each thread
//! wait in a futex of its own, as `parking_lot`'s do: then there are as many futexes as threads.)
//!
//! Words that threads only change, and never sleep for, are found by `atomics`. System calls that
//! may be made with the lock held are named by `calls`.

mod atomics;
mod calls;
pub mod known;
pub mod yielding;

use syncline_recording::Class;

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::few;
use crate::findings::waking::is_clock;
use crate::model::{Answer, Finding, Kind, Lock, OpenQuestion, Process, Remedy, Rule, SiteUse};
use crate::options::Thresholds;
use known::{Known, OF_LOCK, UNSEEN};

/// Threads must wait at one call site for more than this share of all threads' time. Less is not
/// worth a finding, since the futex may be an event.
const LEAST_SHARE: f64 = 0.05;
/// If the mean wait is longer, threads that do not wake each other have nothing to do: sections of
/// a millisecond are rare.
const LONGEST_WAIT: f64 = 1e-3;

/// Threads that wake each other must wait at least this many times a second.
const LEAST_RATE: f64 = 10.0;

/// Finds the call sites where threads wait much and often in futexes.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let sites = process.sites.iter().enumerate();
    let futexes = sites.filter(|(_, s)| s.kind == Kind::Futex && s.op.class() == Class::Wait);
    let least = LEAST_SHARE * process.thread_seconds;
    // Waits that mostly time out are those of an event loop for its timers.
    let busy = futexes.filter(|(_, site)| site.figures.waited > least && !is_clock(site));
    let busy = busy.filter(|&(number, site)| {
        let (waits, waited) = (site.figures.waits as f64, site.figures.waited);
        let often = waits > thresholds.acquisitions_per_second * process.seconds;
        let short = waited < LONGEST_WAIT * waits;
        let seldom = waits < LEAST_RATE * process.seconds;
        let futexes: Vec<&Lock> =
            process.used_at(number).map(|futex| &process.locks[futex]).collect();
        let spread = futexes.len() > site.threads
            && futexes.iter().all(|futex| waited_here(futex, number) <= least);
        let contends = || wake_each_other(&futexes, process, number) || delays(process, number);
        !spread && (often && short || !seldom && contends())
    });
    let mut findings: Vec<Finding> = busy.map(|(number, _)| finding(process, number)).collect();
    for lock in yielding::find(process, thresholds) {
        // If the lock's futex is busy as well, the futex's finding says more.
        if !findings.iter().any(|busy| lock.sites.contains(&busy.sites[0])) {
            findings.push(lock);
        }
    }
    findings.extend(atomics::find(process, &findings));
    findings
}

/// Seconds that threads waited in one futex at a site.
fn waited_here(futex: &Lock, number: usize) -> f64 {
    futex.sites.iter().filter(|used| used.site == number).map(|used| used.waited).sum()
}

/// Whether threads that wait at a site also wake each other: at least as many threads wake others
/// through these futexes as wait, and there are fewer futexes than threads that wait.
fn wake_each_other(futexes: &[&Lock], process: &Process, number: usize) -> bool {
    let waiting = process.sites[number].threads;
    let wakes = |used: &SiteUse| used.op.class() == Class::Notify;
    let wakers = futexes.iter().flat_map(|lock| &lock.sites).filter(|used| wakes(used));
    let waking = wakers.map(|used| process.sites[used.site].threads).max().unwrap_or(0);
    futexes.len() < waiting && waking >= waiting
}

/// Whether the functions that wait at a site are those of a lock, and the waits delay the run. Idle
/// workers may wait for a lock too: that of a queue in which another worker waits for work.
fn delays(process: &Process, number: usize) -> bool {
    Known::of(process, &process.sites[number]) == Some(Known::Lock)
        && process.critical_path.through(number).is_some_and(|share| share > LEAST_SHARE)
}

/// The advice, and the question to answer first.
fn advice(known: Option<Known>) -> (String, Option<OpenQuestion>) {
    const OF_EVENT: &str = "pass on more at a time (a longer queue, batches), or let threads \
                            poll for some microseconds before they sleep";
    let ask = |question: &str| {
        Some(OpenQuestion { question: question.to_owned(), command: Answer::Record })
    };
    match known {
        Some(Known::Event) => (format!("It is an event: {OF_EVENT}."), None),
        Some(Known::Lock) => (
            format!("It is a lock: {OF_LOCK}. {UNSEEN}"),
            ask("Which thread holds the lock? With a pthread mutex or one of Syncline's locks \
                 instead, the recording would show the holder."),
        ),
        None => (
            format!("If this is a lock: {OF_LOCK}. If it is an event: {OF_EVENT}. {UNSEEN}"),
            ask("Is it a lock or an event, and if it is a lock, which thread holds it? With a \
                 pthread mutex or one of Syncline's locks instead, the recording would show the \
                 holder."),
        ),
    }
}

fn finding(process: &Process, number: usize) -> Finding {
    let site = &process.sites[number];
    let figures = &site.figures;
    let locks: Vec<usize> = process.used_at(number).collect();
    let known = Known::of(process, site);
    let (mut advice, open_question) = advice(known);
    let called = calls::made_with_lock(process, number).filter(|_| known != Some(Known::Event));
    if let Some(called) = &called {
        advice = format!("{advice} {}", called.advice());
    }
    let title = match &called {
        Some(_) => "Threads wait in a futex for a function that makes system calls",
        None => "Threads wait for each other in a futex",
    };
    let mut finding = Finding {
        rule: Rule::BusyFutex,
        title: title.to_owned(),
        place: site.place.clone(),
        sites: vec![number],
        evidence: vec![
            rate("waits", figures.waits as f64 / process.seconds),
            seconds("mean wait", figures.waited / figures.waits.max(1) as f64),
            share(
                "share of all threads' time waited here",
                figures.waited / process.thread_seconds,
            ),
            count("futexes", locks.len() as u64),
            count("threads", site.threads as u64),
        ],
        locks: few(&locks),
        advice,
        open_question,
        remedy: Remedy::NoWaits { sites: vec![number] },
        gain: None,
    };
    let atomics = process.atomics.iter().find(|atomics| atomics::is_in(process, &finding, atomics));
    finding.evidence.extend(atomics.map(|atomics| {
        let share_here = atomics::share_of(process, atomics);
        share("processor time at this function's atomic instructions", share_here)
    }));
    finding.evidence.extend(called.map(|called| called.evidence()));
    finding
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The number of findings if four threads waited this often and for this many seconds, in ten
    /// seconds.
    fn waits(waits: u64, waited: f64) -> usize {
        woken_by(1, waits, waited)
    }

    /// Like [`waits`], with `wakers` threads that wake others.
    fn woken_by(wakers: usize, waits: u64, waited: f64) -> usize {
        let mut drawn = process(10.0, 4);
        drawn.threads("operate", 4, 10.0);
        let futex = drawn.lock(Primitive::Futex, "mutex_of_all");
        let site = drawn.site(Op::FutexWait, "FutexMutex::lock at own.cpp:21");
        drawn.uses(futex, site, Use { calls: waits, waits, waited, ..Use::default() });
        let wake = drawn.site(Op::FutexWake, "FutexMutex::unlock at own.cpp:25");
        drawn.uses(futex, wake, Use { calls: waits, ..Use::default() });
        (drawn.sites[site].threads, drawn.sites[wake].threads) = (4, wakers);
        find(&drawn, &Thresholds::default()).len()
    }

    #[test]
    fn many_short_waits_are_found_but_not_idle_workers() {
        assert_eq!(waits(100_000, 10.0), 1);
        assert_eq!(waits(100_000, 2.4), 0, "4.8 % of 50 thread-seconds");
        assert_eq!(waits(9_900, 5.0), 0, "990 a second");
        assert_eq!(waits(30_000, 31.0), 0, "longer than a millisecond each");
    }

    /// Modelled on log4rs, whose threads wait in futexes of their own while a log is compressed.
    #[test]
    fn long_waits_for_a_known_lock_are_found_if_they_delay_the_run() {
        let found = |function: &str, on_path: f64| {
            let mut drawn = process(10.0, 4);
            drawn.threads("operate", 4, 10.0);
            let futex = drawn.lock(Primitive::Futex, "log");
            let site = drawn.site(Op::FutexWait, "append at log.rs:20");
            drawn.uses(futex, site, Use { calls: 200, waits: 200, waited: 5.0, ..Use::default() });
            drawn.calls_inside(site, function);
            drawn.critical_path.seconds = 10.0;
            drawn.critical_path.through = [(site, on_path)].into();
            find(&drawn, &Thresholds::default()).len()
        };
        let lock = "RawMutex::lock_slow at raw.rs:9";
        assert_eq!((found(lock, 0.6), found(lock, 0.4)), (1, 0));
        assert_eq!(found("thread::park at park.rs:9", 0.6), 0);
    }

    #[test]
    fn waits_that_time_out_have_no_finding() {
        let found = |timeouts| {
            let mut drawn = process(10.0, 4);
            drawn.threads("operate", 4, 10.0);
            let futex = drawn.lock(Primitive::Futex, "driver");
            let site = drawn.site(Op::FutexWait, "park_timeout at park.rs:231");
            let waits = Use { calls: 100_000, waits: 100_000, waited: 10.0, ..Use::default() };
            drawn.uses(futex, site, waits);
            drawn.sites[site].figures.timeouts = timeouts;
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!((found(49_999), found(50_000)), (1, 0));
    }

    #[test]
    fn waits_spread_over_many_futexes_have_no_finding() {
        let of_many = |others: usize, in_one: f64| {
            let mut drawn = process(10.0, 4);
            drawn.threads("operate", 4, 10.0);
            let site = drawn.site(Op::FutexWait, "FutexMutex::lock at own.cpp:21");
            let mut wait = |name: &str, waits, waited| {
                let futex = drawn.lock(Primitive::Futex, name);
                drawn.uses(futex, site, Use { calls: waits, waits, waited, ..Use::default() });
            };
            wait("busiest", 10_000, in_one);
            (0..others).for_each(|_| wait("other", 1_000, 0.1));
            drawn.sites[site].threads = 4;
            find(&drawn, &Thresholds::default()).len()
        };
        assert_eq!(of_many(100, 2.4), 0, "4.8 % in one of 101, 24.8 % in all");
        assert_eq!(of_many(100, 2.6), 1, "5.2 % in one");
        assert_eq!(of_many(3, 2.4), 1, "5.4 % in as many as threads");
    }

    #[test]
    fn threads_that_wake_each_other_are_found_though_they_wait_long() {
        assert_eq!(woken_by(4, 1_000, 10.0), 1);
        assert_eq!(woken_by(3, 1_000, 10.0), 0, "one is only woken");
        assert_eq!(woken_by(4, 99, 10.0), 0, "seldom");
    }

    #[test]
    fn function_names_tell_a_lock_from_an_event() {
        let advice = |inside: &[&str]| {
            let mut drawn = process(10.0, 4);
            drawn.threads("operate", 4, 10.0);
            let futex = drawn.lock(Primitive::Futex, "word");
            let site = drawn.site(Op::FutexWait, "log at writer.rs:75");
            let waits = Use { calls: 100_000, waits: 100_000, waited: 10.0, ..Use::default() };
            drawn.uses(futex, site, waits);
            for name in inside {
                drawn.calls_inside(site, name);
            }
            find(&drawn, &Thresholds::default()).remove(0).advice
        };
        let lock = "std::sys::sync::mutex::futex::Mutex::lock_contended at futex.rs:140";
        let condition =
            "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout at futex.rs:54";
        assert!(advice(&[lock]).starts_with("It is a lock"), "{}", advice(&[lock]));
        assert!(advice(&[lock, condition]).starts_with("It is an event"));
        let parks =
            "parking_lot_core::thread_parker::imp::ThreadParker::futex_wait at linux.rs:112";
        let parking_lot = "parking_lot::raw_mutex::RawMutex::lock_slow at raw_mutex.rs:262";
        assert!(advice(&[parking_lot, parks]).starts_with("It is a lock"));
        assert!(
            advice(&[]).starts_with("If this is a lock"),
            "the call site itself does not count"
        );
    }
}
