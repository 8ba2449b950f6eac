//! The waits and holds of each thread over time, as far as the recording kept them.

use serde::Serialize;
use syncline_recording::Op;

/// The timeline of the threads. The logs of a long run keep only windows of time, with all events
/// in each window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Whether holds were recorded (`syncline record --timeline`), or only waits.
    pub holds: bool,
    /// The windows for which every thread's log is complete, in order: start and end, in seconds
    /// since the recording began. If everything was kept, there is one window, the whole run.
    pub windows: Vec<(f64, f64)>,
    /// When the run ended, in seconds since the recording began.
    pub to: f64,
    /// The events of each thread, in the order of their ends. The threads are in the order of
    /// [`super::Process::threads`].
    pub threads: Vec<Vec<Span>>,
}

impl Timeline {
    /// The thread that ended `wait`, a wait of `thread`; `None` if unknown. At a barrier it is the
    /// last thread to arrive, whose own wait there lasts a moment at most.
    pub fn ended_by(&self, thread: usize, wait: &Span) -> Option<usize> {
        if !wait.op.primitive().is_barrier() {
            return wait.by;
        }
        let others = self.threads.iter().enumerate().filter(|&(number, _)| number != thread);
        let arrivals = others.filter_map(|(number, spans)| {
            let after = spans.partition_point(|span| span.ended < wait.began);
            let here = spans[after..].iter().take_while(|span| span.began <= wait.ended);
            let last =
                here.filter(|span| span.lock == wait.lock && span.began > wait.began).last()?;
            Some((last.began, number))
        });
        arrivals.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| number)
    }
}

/// A wait or a hold of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// When the span began, in seconds since the recording began.
    pub began: f64,
    /// When the span ended, in seconds since the recording began.
    pub ended: f64,
    /// Whether the span is a wait or a hold.
    pub activity: Activity,
    /// The operation.
    pub op: Op,
    /// The lock's index in [`super::Process::locks`]; `None` if unknown.
    pub lock: Option<usize>,
    /// The call site's index in [`super::Process::sites`]; `None` if unknown.
    pub site: Option<usize>,
    /// The stack's index in [`super::Process::stacks`].
    pub stack: usize,
    /// For a wait: index in [`super::Process::threads`] of the thread that held the lock, or ended
    /// the wait; `None` if unknown.
    pub by: Option<usize>,
    /// Whether a signal ended the wait.
    pub interrupted: bool,
}

/// What a thread does during a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The thread waits.
    Wait,
    /// The thread holds a lock.
    Hold,
}
