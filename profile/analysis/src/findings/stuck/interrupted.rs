//! A process that could not continue until a signal came, and then ended, or did something else.
//!
//! A user interrupts a program that hangs. Many programs then end in an orderly way, as the
//! interpreter of Python does: the signal ends the first thread's wait for a semaphore, and the
//! thread leaves. So the end of the recording no longer shows the hang. But the log has the wait,
//! and that a signal ended it. This file draws the process as it was just before the signal.

use syncline_recording::Op;

use super::waits::{VERY_LONG, is_for_good};
use crate::model::{Activity, Process, Span, State, Thread, WaitingNow};

/// The wait must have lasted for at least this long, in seconds. A user waits for a while before
/// interrupting a program.
const LONG: f64 = 3.0;
/// The process must end within this many seconds after the signal.
const SOON: f64 = 5.0;

/// The process as it was just before a signal ended a long wait, and with it the run. `None` if there
/// was no such signal, or if another thread did not wait then.
pub fn before_signal(process: &Process) -> Option<Process> {
    let came = signal(process)?;
    let is_alive =
        |thread: &Thread| thread.started <= came && thread.started + thread.seconds >= came;
    let threads = process.threads.iter().enumerate();
    let waits = threads.map(|(number, thread)| match is_alive(thread) {
        true => waiting_at(process, number, came).map(Some),
        false => Some(None),
    });
    let waits: Vec<Option<WaitingNow>> = waits.collect::<Option<_>>()?;
    let mut before = process.clone();
    before.state = State::Unknown;
    for (thread, wait) in before.threads.iter_mut().zip(waits) {
        thread.ended = wait.is_none();
        thread.waiting_now = wait;
    }
    Some(before)
}

/// When the first signal came that ended a long wait shortly before the process's end. A second one
/// may follow at once: the terminal sends it to the program, and so does the command that has
/// started the program.
fn signal(process: &Process) -> Option<f64> {
    let timeline = &process.timeline;
    let is_one = |span: &&Span| {
        span.op == Op::SemWait
            && span.interrupted
            && span.ended - span.began >= LONG
            && timeline.to - span.ended <= SOON
    };
    let interrupted = timeline.threads.iter().flatten().filter(is_one);
    interrupted.map(|span| span.ended).min_by(f64::total_cmp)
}

/// What a thread waited for at that moment, if it had waited very long by then, and the wait ends
/// only by what other threads do. It may be the wait that ended at that moment.
fn waiting_at(process: &Process, thread: usize, moment: f64) -> Option<WaitingNow> {
    let spans = process.timeline.threads.get(thread)?;
    let is_it = |span: &&Span| {
        span.activity == Activity::Wait && span.began <= moment && moment <= span.ended
    };
    let ended = || spans.iter().find(is_it).map(|span| as_waiting(process, span, moment));
    let still = || {
        let now = process.threads[thread].waiting_now.clone()?;
        let since = process.seconds - now.seconds;
        Some(WaitingNow { seconds: moment - since, ..now })
    };
    let waited = ended().or_else(still)?;
    (is_for_good(&waited) && waited.seconds >= VERY_LONG).then_some(waited)
}

/// A wait as it was at a moment before its end.
fn as_waiting(process: &Process, span: &Span, moment: f64) -> WaitingNow {
    WaitingNow {
        op: span.op,
        address: span.lock.map_or(0, |lock| process.locks[lock].address),
        lock: span.lock,
        stack: Some(span.stack),
        seconds: moment - span.began,
        holder: span.by,
        holder_stack: None,
    }
}
