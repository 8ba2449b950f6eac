//! A process that could not continue until a signal came, and then ended by itself.
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
    let (came, interrupted) = signal(process)?;
    let waits = |number: usize| match number == interrupted {
        true => last_wait(process, number, came).map(|span| as_waiting(process, span, came)),
        false => waiting_at(process, number, came),
    };
    let all = 0..process.threads.len();
    let alive: Vec<usize> =
        all.filter(|&number| is_alive(&process.threads[number], came)).collect();
    if alive.iter().any(|&number| waits(number).is_none()) {
        return None;
    }
    let mut before = process.clone();
    before.state = State::Unknown;
    for (number, thread) in before.threads.iter_mut().enumerate() {
        let is_alive = alive.contains(&number);
        thread.ended = !is_alive;
        thread.waiting_now = if is_alive { waits(number) } else { None };
    }
    Some(before)
}

/// When the first signal came that ended a long wait shortly before the process's end, and the thread
/// that waited. A second one may follow at once: the terminal sends it to the program, and so does
/// the command that has started the program.
fn signal(process: &Process) -> Option<(f64, usize)> {
    let timeline = &process.timeline;
    let is_one = |span: &Span| {
        span.op == Op::SemWait
            && span.interrupted
            && span.ended - span.began >= LONG
            && timeline.to - span.ended <= SOON
    };
    let interrupted = timeline.threads.iter().enumerate().filter_map(|(number, spans)| {
        spans.iter().find(|span| is_one(span)).map(|span| (span.ended, number))
    });
    interrupted.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn is_alive(thread: &Thread, moment: f64) -> bool {
    thread.started <= moment && (!thread.ended || thread.started + thread.seconds >= moment)
}

/// The wait in which a thread was at that moment, or that ended at it.
fn last_wait(process: &Process, thread: usize, moment: f64) -> Option<&Span> {
    let spans = process.timeline.threads.get(thread)?;
    let waits = spans.iter().filter(|span| span.activity == Activity::Wait);
    waits.into_iter().find(|span| span.began <= moment && moment <= span.ended)
}

/// What a thread waited for at that moment, if it had waited very long by then, and the wait ends
/// only by what other threads do.
fn waiting_at(process: &Process, thread: usize, moment: f64) -> Option<WaitingNow> {
    let still = || {
        let now = process.threads[thread].waiting_now.clone()?;
        let since = process.seconds - now.seconds;
        Some(WaitingNow { seconds: moment - since, ..now })
    };
    let ended = last_wait(process, thread, moment);
    let waited = ended.map(|span| as_waiting(process, span, moment)).or_else(still)?;
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
