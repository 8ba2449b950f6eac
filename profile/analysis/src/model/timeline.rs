//! The timeline of each thread, as far as the recording kept it.

use serde::Serialize;
use syncline_recording::Op;

/// The timeline of the threads. Of a long run, the logs keep windows of time, each with all events
/// in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Whether holds were recorded (`syncline record --timeline`), or only waits.
    pub holds: bool,
    /// The windows for which every thread's log is complete, in order: start and end, in seconds
    /// since the recording began. If everything was kept, there is one window, the whole run.
    pub windows: Vec<(f64, f64)>,
    /// When the run ended, in seconds since the recording began.
    pub to: f64,
    /// The events, thread by thread in the order of [`super::Process::threads`], those of a thread
    /// in the order of their ends.
    pub threads: Vec<Vec<Span>>,
}

impl Timeline {
    /// The thread that ended a wait of another; `None` if unknown. At a barrier it is the last to
    /// arrive, whose own wait there lasts a moment at most.
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

/// A wait or a hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// When it began, in seconds since the recording began.
    pub began: f64,
    /// When it ended.
    pub ended: f64,
    /// Whether it was a wait or a hold.
    pub activity: Activity,
    /// The operation.
    pub op: Op,
    /// Index in [`super::Process::locks`].
    pub lock: Option<usize>,
    /// Index in [`super::Process::sites`].
    pub site: Option<usize>,
    /// Index in [`super::Process::stacks`].
    pub stack: usize,
    /// For a wait: index in [`super::Process::threads`] of the thread that held the lock, or ended
    /// the wait.
    pub by: Option<usize>,
}

/// What a thread does during a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It waits.
    Wait,
    /// It holds a lock.
    Hold,
}
