//! The waits and holds of each thread over time, from the logs of events.

use std::collections::HashMap;

use syncline_recording::layout::{EVENT_HOLD, EVENT_WAIT, EventRecord, SIGNAL};
use syncline_recording::{Op, Primitive, ProcessFile, Windows};

use super::clock::Clock;
use super::sites::Sites;
use super::stacks::Stacks;
use crate::model::{Activity, Lock, Span, Timeline};

/// At most one window more than this is kept. There would be far more if a thread waited very often
/// at first and rarely afterwards.
const MOST_WINDOWS: usize = 4096;

/// A thread's events, each with the preliminary number of its site.
pub type Log = Vec<(EventRecord, Option<usize>)>;

/// The valid events of the thread at this place in the file.
pub fn log(thread: usize, events: &[EventRecord], sites: &Sites, stacks: &Stacks) -> Log {
    let event = |event: &EventRecord| {
        let op = Op::from_code(event.op)?;
        let known = [EVENT_WAIT, EVENT_HOLD].contains(&event.kind) && event.began <= event.ended;
        known.then(|| {
            (
                *event,
                sites.number(
                    op,
                    stacks.place(stacks.of_call(Some(thread), event.stack, event.lock)),
                ),
            )
        })
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
    let span = |thread: usize, (event, site): (EventRecord, Option<usize>)| {
        let op = Op::from_code(event.op).expect("the log has known operations only");
        Span {
            began: clock.since_start(event.began),
            ended: clock.since_start(event.ended),
            activity: if event.kind == EVENT_WAIT { Activity::Wait } else { Activity::Hold },
            op,
            lock: locks.get(&(op.primitive(), event.lock)).copied(),
            site: site.map(|site| site_numbers[site]),
            stack: stacks.of_call(Some(thread), event.stack, event.lock),
            by: threads.get(&u32::from(event.who)).copied().filter(|_| event.who < SIGNAL),
            interrupted: event.who == SIGNAL,
        }
    };
    Timeline {
        holds: file.header.timeline != 0,
        windows: windows(file, clock),
        to: clock.run_seconds(),
        threads: logs
            .into_iter()
            .enumerate()
            .map(|(thread, log)| log.into_iter().map(|event| span(thread, event)).collect())
            .collect(),
    }
}

/// The windows for which every log is complete, in seconds since the recording began.
fn windows(file: &ProcessFile, clock: &Clock) -> Vec<(f64, f64)> {
    let logs = || file.threads.iter().filter(|thread| thread.record.log != 0);
    let common = logs().map(|thread| thread.windows).fold(Windows::ALL, Windows::common);
    // A log that is full at the end lacks later events.
    let full =
        logs().filter(|thread| thread.record.log_is_full()).filter_map(|thread| thread.log.last());
    let until = full.map(|event| event.ended).fold(file.ended(), u64::min);
    let seconds = |(from, to)| (clock.since_start(from), clock.since_start(to));
    let from = file.header.started.max(file.header.window_began);
    let all = common.between(from, until, MOST_WINDOWS);
    all.into_iter().map(seconds).collect()
}
