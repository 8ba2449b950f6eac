//! Threads that are woken for nothing: a broadcast to a crowd in which only one thread finds
//! something to do, or a wake-up system call without waiters.
//!
//! A wake-up of a condition is futile if the thread waits again without having released the lock in
//! between. Each futile wake-up costs two context switches and an acquisition of the lock.
//!
//! A signal without waiters is not a finding, since the C library returns at once. But a program
//! that uses a futex directly enters the kernel for each wake-up, unless it notes whether threads
//! sleep.

use syncline_recording::{Op, Primitive};

use crate::findings::busy_futex::known::Known;
use crate::findings::evidence::{count, rate, share, times};
use crate::findings::family::few;
use crate::gain::WAKE_UP;
use crate::model::{Finding, Lock, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// At least this share of a condition's wake-ups must be futile. A few are unavoidable, since
/// another thread may be faster.
const FUTILE: f64 = 0.5;
/// Seconds that a wake-up system call takes if it finds no waiter.
const WAKE_NOBODY: f64 = 0.3e-6;
/// Futile wake-ups must take at least this share of the run time. If a queue is filled faster than
/// its threads wake up, half of the threads come too late however they are woken, and these
/// wake-ups take 2 % of the run time.
const HERD_FLOOR: f64 = 0.05;
/// System calls that wake no thread must take at least this share of the run time.
const CALLS_FLOOR: f64 = 0.01;
/// A futex counts as one without waiters if at most this share of its wake-ups can have found a
/// waiter.
const MET: f64 = 0.1;

/// The findings about wake-ups for nothing.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let conditions = (0..process.sites.len()).filter_map(|site| futile(process, site));
    let futexes = (0..process.locks.len()).filter_map(|lock| nobody(process, lock));
    conditions.chain(futexes).collect()
}

/// Whether threads that are woken at a site mostly find nothing to do.
pub fn mostly_futile(site: &Site) -> bool {
    site.figures.futile as f64 >= FUTILE * site.figures.calls.max(1) as f64
}

fn futile(process: &Process, number: usize) -> Option<Finding> {
    let Site { figures, op, place, .. } = &process.sites[number];
    let woken = figures.calls.max(1) as f64;
    let futile = figures.futile as f64;
    let cost = futile * WAKE_UP / process.seconds;
    if !matches!(op, Op::CondWait | Op::CondTimedwait)
        || !mostly_futile(&process.sites[number])
        || cost < HERD_FLOOR
    {
        return None;
    }
    let used_here = |lock: &&usize| process.locks[**lock].sites.iter().any(|u| u.site == number);
    let all: Vec<usize> = (0..process.locks.len()).collect();
    let locks: Vec<usize> = all.iter().filter(used_here).copied().collect();
    let uses = || locks.iter().flat_map(|&lock| &process.locks[lock].sites);
    let calls = |op: Op| uses().filter(|used| used.op == op).map(|used| used.calls).sum::<u64>();
    let (broadcasts, signals) = (calls(Op::CondBroadcast), calls(Op::CondSignal));
    let mut wakers: Vec<usize> = uses()
        .filter(|used| matches!(used.op, Op::CondBroadcast | Op::CondSignal))
        .map(|used| used.site)
        .collect();
    wakers.sort_by_key(|&site| (u64::MAX - process.sites[site].figures.calls, site));
    wakers.dedup();
    let mut evidence = vec![
        share("wake-ups that found nothing to do", futile / woken),
        rate("such futile wake-ups", futile / process.seconds),
        share("processor time for futile wake-ups, as a share of the run time (estimate)", cost),
        count("broadcasts", broadcasts),
        count("signals", signals),
    ];
    if broadcasts > 0 {
        evidence.push(times("threads woken by each broadcast", woken / broadcasts as f64));
    }
    let advice = if broadcasts > 0 {
        "Wake only as many threads as there is work for: send a signal for each piece of work \
         instead of the broadcast. If threads wait for different things, use a separate condition \
         variable for each."
    } else {
        "Look at the code that signals: the condition does not hold yet when threads are woken, or \
         another thread makes it false before they run. Signal after the change, and use a \
         separate condition variable for each thing that threads wait for."
    };
    Some(Finding {
        rule: Rule::FutileWakeUps,
        title: "Threads are woken and find nothing to do".to_owned(),
        place: place.clone(),
        locks: few(&locks),
        evidence,
        advice: advice.to_owned(),
        open_question: None,
        remedy: Remedy::CheaperCalls {
            sites: vec![number],
            seconds_per_call: WAKE_UP * (futile / woken).min(1.0),
            waits_left: 1.0,
        },
        sites: [number].into_iter().chain(wakers).collect(),
        gain: None,
    })
}

fn nobody(process: &Process, number: usize) -> Option<Finding> {
    let lock: &Lock = &process.locks[number];
    let wake_ups = lock.wake_ups as f64;
    let idle = wake_ups - lock.figures.waits as f64;
    let cost = idle * WAKE_NOBODY / process.seconds;
    let applies = lock.primitive == Primitive::Futex
        && lock.figures.waits as f64 <= MET * wake_ups
        && cost >= CALLS_FLOOR;
    let wakers = lock.sites.iter().filter(|used| used.op == Op::FutexWake).map(|used| used.site);
    let mut sites: Vec<usize> = wakers.collect();
    sites.sort_by_key(|&site| (u64::MAX - process.sites[site].figures.calls, site));
    let place = process.sites[*sites.first()?].place.clone();
    // A lock of a language's library notes whether threads sleep. Under contention it can't know
    // better: a thread that it expects to sleep may have got the lock by spinning.
    let is_lock = |site: usize| Known::of(process, &process.sites[site]) == Some(Known::Lock);
    if lock.sites.iter().any(|used| is_lock(used.site)) {
        return None;
    }
    applies.then(|| Finding {
        rule: Rule::FutileWakeUps,
        title: "A futex without waiters is woken".to_owned(),
        place,
        locks: vec![number],
        evidence: vec![
            rate("wake-ups", wake_ups / process.seconds),
            share(
                "share of wake-ups that woke a thread, at most",
                lock.figures.waits as f64 / wake_ups,
            ),
            share(
                "processor time for the other wake-ups, as a share of the run time (estimate)",
                cost,
            ),
        ],
        advice: "Note in the word whether a thread sleeps, and call the kernel only then."
            .to_owned(),
        open_question: None,
        remedy: Remedy::CheaperCalls {
            sites: sites.clone(),
            seconds_per_call: WAKE_NOBODY * idle / wake_ups,
            waits_left: 1.0,
        },
        sites,
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{Use, process};

    /// The findings for sixteen workers with `woken` wake-ups in ten seconds; `futile` of the
    /// wake-ups are futile. `waker` is the operation that wakes them.
    fn herd(woken: u64, futile: u64, waker: Op) -> Vec<Finding> {
        let mut drawn = process(10.0, 4);
        drawn.threads("serve", 16, 10.0);
        let condition = drawn.lock(Primitive::Condvar, "request_came");
        let wait = drawn.site(Op::CondWait, "take_request at server.c:18");
        let wake = drawn.site(waker, "ask at server.c:45");
        drawn.uses(condition, wait, Use { calls: woken, waits: woken, ..Use::default() });
        drawn.uses(condition, wake, Use { calls: 4_000, ..Use::default() });
        drawn.sites[wait].figures.futile = futile;
        find(&drawn, &Thresholds::default())
    }

    #[test]
    fn a_herd_is_found_at_its_wait_with_its_wake_site() {
        let findings = herd(160_000, 150_000, Op::CondBroadcast);
        assert_eq!(findings[0].place, "take_request at server.c:18");
        assert_eq!(findings[0].sites, [0, 1]);
        assert!(findings[0].advice.contains("broadcast"));
        assert!(!herd(160_000, 150_000, Op::CondSignal)[0].advice.contains("broadcast"));
    }

    #[test]
    fn few_futile_wake_ups_have_no_finding() {
        assert!(herd(320_000, 159_000, Op::CondSignal).is_empty(), "not half of them");
        assert_eq!(herd(101_000, 100_000, Op::CondBroadcast).len(), 1, "5 % of the run");
        assert!(herd(101_000, 99_900, Op::CondBroadcast).is_empty());
    }

    #[test]
    fn wake_ups_of_a_futex_without_waiters_are_found() {
        let by = |inside: &[&str], wakes, waits| {
            let mut drawn = process(10.0, 4);
            let futex = drawn.lock(Primitive::Futex, "word");
            let wait = drawn.site(Op::FutexWait, "lock at own.c:1");
            let wake = drawn.site(Op::FutexWake, "unlock at own.c:9");
            drawn.uses(futex, wait, Use { calls: waits, waits, ..Use::default() });
            drawn.uses(futex, wake, Use { calls: wakes, ..Use::default() });
            // A wake-up may be made by a jump, and then the function that wakes is not on the
            // stack.
            for name in inside {
                drawn.calls_inside(wait, name);
            }
            find(&drawn, &Thresholds::default())
        };
        let futex = |wakes, waits| by(&[], wakes, waits);
        assert_eq!(futex(400_000, 1_000)[0].place, "unlock at own.c:9");
        assert!(futex(400_000, 41_000).is_empty(), "every tenth met somebody");
        assert!(futex(330_000, 1_000).is_empty(), "0.99 % of the run");
        let of_rust = ["std::sys::sync::mutex::futex::Mutex::lock_contended at futex.rs:140"];
        assert!(by(&of_rust, 400_000, 1_000).is_empty(), "it notes whether threads sleep");
    }
}
