//! What each thread did when, from the logs of events.

use std::collections::HashMap;

use syncline_recording::layout::{EVENT_HOLD, EVENT_WAIT, EventRecord, NOBODY, ThreadRecord};
use syncline_recording::{Op, Primitive, ProcessFile};

use super::sites::Sites;
use super::stacks::Stacks;
use super::tally::Clock;
use crate::model::{Activity, Lock, Span, Timeline};

/// A thread's events, with the site of each while the sites have no final numbers.
pub type Log = Vec<(EventRecord, Option<usize>)>;

/// The events of a thread that can be understood.
pub fn log(events: &[EventRecord], sites: &Sites, stacks: &Stacks) -> Log {
    let event = |event: &EventRecord| {
        let op = Op::from_code(event.op)?;
        let known = [EVENT_WAIT, EVENT_HOLD].contains(&event.kind) && event.began <= event.ended;
        known.then(|| (*event, sites.number(op, stacks.place(stacks.checked(event.stack)))))
    };
    events.iter().filter_map(event).collect()
}

/// The timeline of a process, from the log of each of its threads.
pub fn timeline(
    file: &ProcessFile,
    logs: Vec<Log>,
    site_numbers: &[usize],
    locks: &[Lock],
    stacks: &Stacks,
    clock: &Clock,
) -> Timeline {
    let locks: HashMap<(Primitive, u64), usize> =
        locks.iter().enumerate().map(|(n, lock)| ((lock.primitive, lock.address), n)).collect();
    let threads: HashMap<u32, usize> =
        file.threads.iter().enumerate().map(|(place, thread)| (thread.index, place)).collect();
    let span = |(event, site): (EventRecord, Option<usize>)| {
        let op = Op::from_code(event.op).expect("the log has known operations only");
        Span {
            began: clock.since_start(event.began),
            ended: clock.since_start(event.ended),
            activity: if event.kind == EVENT_WAIT { Activity::Wait } else { Activity::Hold },
            op,
            lock: locks.get(&(op.primitive(), event.lock)).copied(),
            site: site.map(|site| site_numbers[site]),
            stack: stacks.checked(event.stack),
            by: (event.who != NOBODY)
                .then(|| threads.get(&u32::from(event.who)).copied())
                .flatten(),
        }
    };
    let from = file
        .threads
        .iter()
        .zip(&logs)
        .filter(|(thread, _)| overwritten(&thread.record))
        .filter_map(|(_, log)| log.first())
        .map(|(event, _)| clock.since_start(event.ended));
    Timeline {
        holds: file.header.timeline != 0,
        from: from.fold(0.0, f64::max),
        to: clock.run_seconds(),
        threads: logs.into_iter().map(|log| log.into_iter().map(span).collect()).collect(),
    }
}

/// Whether a thread's ring has lost its oldest events.
fn overwritten(record: &ThreadRecord) -> bool {
    let places = 1u64.checked_shl((record.log >> 48) as u32).unwrap_or(u64::MAX);
    record.log != 0 && record.logged > places
}
