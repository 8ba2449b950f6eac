//! A standstill in which some threads look again and again.
//!
//! A thread that waits for room in a queue, or for a flag, may sleep for a moment, look, and sleep
//! again. If all other threads wait for good, or look again and again themselves, nothing changes any
//! more. A timer's thread also sleeps again and again, but seldom a thousand times a second.

use syncline_present::number::grouped;
use syncline_recording::Op;

use super::waits::{NAMED, living, place, repeated, stands_still, text, thread_label};
use crate::model::{Process, Stuck, Trap};
use crate::name;

/// A thread must have waited so for at least this many seconds in all.
const LONG: f64 = 3.0;
/// And for at least this share of its life. The log of so many waits does not reach far back.
const MOSTLY: f64 = 0.9;
/// The longest mean wait in seconds.
const OFTEN: f64 = 1e-3;
/// The log must have this many looks without anything in between, until the end of the recording.
const FEWEST: u64 = 10;
/// At least this share of the waits at the call site ran out of time.
const ALL: f64 = 0.99;

/// A thread that looks again and again.
struct Polling {
    /// The call site, as an index of [`Process::sites`].
    site: usize,
    /// The waits there.
    number: u64,
    /// Their total seconds.
    seconds: f64,
}

/// All threads, if each of them waits, for good or again and again with a time-out that always ran
/// out; `None` if none polls.
pub fn find(process: &Process) -> Option<Stuck> {
    let threads: Vec<usize> = living(process).collect();
    let polling: Vec<_> = threads.iter().map(|&thread| polls(process, thread)).collect();
    let mut seconds: f64 = process.seconds;
    let mut lines = Vec::new();
    for (&thread, polls) in threads.iter().zip(&polling) {
        let who = thread_label(process, thread);
        match polls {
            Some(polling) => {
                seconds = seconds.min(polling.seconds);
                let site = name::site(process, &process.sites[polling.site]);
                let number = grouped(polling.number);
                lines.push(format!("{who} waits at {site}, {number} times until a time-out"));
            }
            None => {
                let now = stands_still(process, thread)?;
                seconds = seconds.min(now.seconds);
                lines.push(format!("{who} waits at {}", place(process, now)));
            }
        }
    }
    polling.iter().flatten().next()?;
    lines.truncate(NAMED);
    lines.push("no thread does anything that could change what these threads look for".to_owned());
    Some(Stuck { trap: Trap::Standstill, seconds, why: text(&lines), threads })
}

/// How a thread polls until the end of the recording, with a time-out that always runs out; `None` if
/// it does not.
fn polls(process: &Process, thread: usize) -> Option<Polling> {
    let with_time_out = [Op::FutexWait, Op::CondTimedwait, Op::SemTimedwait];
    let repeated = with_time_out.into_iter().find_map(|op| repeated(process, thread, op))?;
    let number = repeated.last.site?;
    let site = &process.sites[number];
    let figures = &site.figures;
    let &(_, own) = site.by_thread.iter().find(|(by, _)| *by == thread)?;
    let all: u64 = site.by_thread.iter().map(|(_, calls)| calls).sum();
    let seconds = figures.waited * own as f64 / all.max(1) as f64;
    let polls = repeated.number >= FEWEST
        && seconds <= OFTEN * own as f64
        && figures.timeouts as f64 >= ALL * figures.waits as f64
        && seconds >= f64::max(LONG, MOSTLY * process.threads[thread].seconds);
    polls.then_some(Polling { site: number, number: own, seconds })
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Use, process, wait};
    use crate::model::{Span, State, WaitingNow};

    /// Modelled on the crate bus, whose sender sleeps for 0.1 ms until there is room, while its
    /// receiver is not read any more. Says whether a standstill is found, if the sender has waited
    /// for `seconds` with a pause of `pause`, and was woken `woken` times. The other thread waits in
    /// `op`. The log has the last 0.3 seconds.
    fn found(seconds: f64, pause: f64, woken: u64, op: Op) -> bool {
        let mut drawn = process(20.0, 2);
        drawn.threads("receive", 1, 20.0);
        drawn.state = State::Killed { signal: 2 };
        let futex = drawn.lock(Primitive::Futex, "futex");
        let site = drawn.site(Op::FutexWait, "send at bus.rs:440");
        let waits = (seconds / pause) as u64;
        let used =
            Use { waits, timeouts: waits - woken, waited: seconds, calls: waits, ..Use::default() };
        drawn.uses(futex, site, used);
        drawn.by_thread(site, [(0, waits)]);
        let logged = (0.3 / pause) as u32;
        let began = |look: u32| 20.0 - pause * f64::from(logged - look);
        let look = |look| Span {
            site: Some(site),
            lock: Some(futex),
            ..wait(Op::FutexWait, began(look), began(look) + 0.9 * pause)
        };
        drawn.timeline.to = 20.0;
        drawn.timeline.threads = vec![(0..logged).map(look).collect(), Vec::new()];
        for thread in &mut drawn.threads {
            thread.ended = false;
        }
        drawn.threads[1].waiting_now = Some(WaitingNow {
            op,
            address: 1,
            lock: None,
            stack: None,
            seconds: 19.0,
            holder: None,
            holder_stack: None,
        });
        find(&drawn).is_some()
    }

    #[test]
    fn threads_that_only_look_again_stand_still() {
        assert!(found(19.0, 2e-4, 0, Op::CondWait));
        assert!(!found(17.0, 2e-4, 0, Op::CondWait), "it did something else for 3 s");
        assert!(!found(19.0, 2e-3, 0, Op::CondWait), "a timer");
        assert!(!found(19.0, 2e-4, 2_000, Op::CondWait), "it was woken");
        assert!(!found(19.0, 2e-4, 0, Op::Sleep), "the other one continues by itself");
    }
}
