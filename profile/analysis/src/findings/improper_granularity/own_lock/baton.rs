//! Locks whose waiters each have a condition of their own, and which a thread hands to the next by
//! name: Ruby's interpreter lock, or a queue of writers.
//!
//! The threads of a pool may wait in the same way until there is work for them. But several of them
//! work at a time, whereas of threads that wait for a lock one at a time does.

use std::ops::Range;

use syncline_recording::Class;

use super::FLOOR;
use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, descending, few};
use crate::findings::waking::{called_by, is_wait, wake_each_other};
use crate::model::{Finding, Process, Remedy, Rule, Site, Thread};

/// The threads must run, or be ready to, for a time that is this share of the run, in all.
const ONE: Range<f64> = 0.5..1.1;
/// The least mean wait in seconds. Interpreters hand their lock on every 5 to 100 ms.
const SHORTEST: f64 = 5e-3;

/// The finding about the call sites at which threads wait for such a lock. The first of its sites is
/// the one with most waiting.
pub fn find(process: &Process) -> Option<Finding> {
    let waited = |&number: &usize| process.sites[number].figures.waited;
    let all = 0..process.sites.len();
    let mut sites: Vec<usize> = all.filter(|&number| is_handed_on(process, number)).collect();
    sites.sort_by(|a, b| descending(waited(a), waited(b)));
    let enough = sites.iter().map(waited).sum::<f64>() >= FLOOR * process.thread_seconds;
    let longest = sites.first().copied().filter(|_| enough)?;
    Some(finding(process, longest, sites))
}

/// Whether the threads that wait at a site wake each other, and one at a time runs, for long. (Short
/// turns are those of threads that hand work to each other.)
fn is_handed_on(process: &Process, number: usize) -> bool {
    let site = &process.sites[number];
    let figures = &site.figures;
    let objects: Vec<usize> = process.used_at(number).collect();
    let times = called_by(site).map(|(thread, _)| &process.threads[thread].times);
    let active: f64 = times.map(|times| times.running + times.ready).sum();
    is_wait(site.op)
        && figures.waits >= FEWEST_TAKEN
        && figures.waited >= SHORTEST * figures.waits as f64
        && ONE.contains(&(active / process.seconds.max(f64::MIN_POSITIVE)))
        && wake_each_other(process, site, &objects)
}

fn finding(process: &Process, longest: usize, sites: Vec<usize>) -> Finding {
    let of_sites = |of: fn(&Site) -> f64| sites.iter().map(|&s| of(&process.sites[s])).sum::<f64>();
    let waits = of_sites(|site| site.figures.waits as f64);
    let waited = of_sites(|site| site.figures.waited);
    let objects: Vec<usize> = process.used_at(longest).collect();
    let threads = process.threads_at(sites.iter().copied());
    let of_threads = |of: fn(&Thread) -> f64| {
        threads.iter().map(|&thread| of(&process.threads[thread])).sum::<f64>()
    };
    let alive = of_threads(|thread| thread.seconds);
    let ran = of_threads(|thread| thread.times.running);
    let wakes = objects.iter().flat_map(|&object| process.locks[object].uses(Class::Notify));
    let given = wakes.max_by_key(|used| used.calls).map(|used| used.site);
    let at = given.map(|given| format!(" at {}", process.sites[given].place));
    Finding {
        rule: Rule::OwnLock,
        title: "Threads wait for their turn: each wakes the next, and one at a time runs"
            .to_owned(),
        place: process.sites[longest].place.clone(),
        locks: few(&objects),
        evidence: vec![
            share("share of its threads' time spent waiting for it", waited / alive.max(1e-9)),
            share("processor time of these threads", ran / process.seconds),
            count("waits", waits as u64),
            seconds("mean wait", waited / waits.max(1.0)),
            count("threads", threads.len() as u64),
        ],
        advice: format!(
            "It is a lock of the program's or of a library's own, such as an interpreter's. A thread \
             hands it on{}. Do less while it is held, in particular give it up for calls that \
             compute or block; if it is an interpreter's, compute in several processes.",
            at.unwrap_or_default()
        ),
        open_question: None,
        remedy: Remedy::Unknown,
        sites: sites.into_iter().chain(given).collect(),
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// Three threads in a run of ten seconds, each of which waits for a condition of its own for
    /// `waited` seconds, runs for `ran`, and wakes others as often as it waits, if `peers` is true.
    fn drawn(waited: f64, ran: f64, peers: bool) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("interpret", 3, 10.0);
        let wait = drawn.site(Op::CondWait, "acquire at gvl.c:10");
        let wake = drawn.site(Op::CondSignal, "release at gvl.c:20");
        for thread in first..first + 3 {
            let condition = drawn.lock(Primitive::Condvar, "turn");
            let used = Use { calls: 100, waits: 100, waited, ..Use::default() };
            drawn.uses(condition, wait, used);
            drawn.uses(condition, wake, Use { calls: 100, ..Use::default() });
            drawn.threads[thread].times.running = ran;
            drawn.threads[thread].times.ready = 0.0;
        }
        drawn.by_thread(wait, (first..first + 3).map(|thread| (thread, 100)));
        let wakers = if peers { first..first + 3 } else { 0..1 };
        drawn.by_thread(wake, wakers.map(|thread| (thread, 100)));
        drawn
    }

    #[test]
    fn threads_that_hand_their_turn_on_have_a_lock() {
        let place = |drawn: &Drawn| find(drawn).map(|finding| finding.place);
        assert_eq!(place(&drawn(6.0, 3.0, true)).as_deref(), Some("acquire at gvl.c:10"));
        assert_eq!(place(&drawn(6.0, 3.7, true)), None, "several run at a time");
        assert_eq!(place(&drawn(6.0, 1.6, true)), None, "mostly none runs");
        assert_eq!(place(&drawn(6.0, 3.0, false)), None, "another thread wakes them");
        assert_eq!(place(&drawn(0.6, 3.0, true)), None, "they hardly wait");
        let mut short = drawn(6.0, 3.0, true);
        short.sites[0].figures.waits = 18_000;
        assert_eq!(place(&short), None, "short turns");
    }
}
