//! A thread of the process, and how it spent its time.

use std::collections::BTreeMap;

use serde::Serialize;
use syncline_recording::{Op, Primitive};

use super::figures::Waiting;
use super::times::Known;
use super::times::Times;

/// A thread. If there were more threads than a recording distinguishes, one record stands for
/// several successive threads with the same start function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thread {
    /// The thread's number in the recording.
    pub index: u32,
    /// The kernel's thread ID.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
    /// How many threads this record stands for: 1, or the number of successive threads that it
    /// sums.
    pub lifetimes: u32,
    /// The thread's start function; `None` for the first thread, and for a thread whose creation
    /// was not seen.
    pub start_function: Option<String>,
    /// The stack at which the thread was created; `None` if that was not recorded.
    pub created_at: Option<usize>,
    /// Index in [`super::Process::threads`] of the thread that created this one; `None` if unknown.
    pub creator: Option<usize>,
    /// When the thread began, in seconds since the recording began. If the record stands for
    /// several threads, when the latest of them began.
    pub started: f64,
    /// Seconds from the thread's start to its end, or to the recording's end if it lived longer. If
    /// the record stands for several threads, their sum.
    pub seconds: f64,
    /// Whether the thread ended before the recording did.
    pub ended: bool,
    /// Seconds of processor time. For a thread that did not end and was not sampled when the
    /// recording ended or was read, they are extrapolated from its last sample, if that was in the
    /// second half of its life. `None` without such a sample, or if the thread may have run before
    /// the recorder was attached to its process.
    pub cpu: Option<f64>,
    /// Seconds that the thread was ready to run and had no processor, including those at the end of
    /// a wait. `None` if the thread had not ended and was not sampled when the recording ended or
    /// was read, or if it may have run before the recorder was attached to its process.
    pub ready: Option<f64>,
    /// How often the thread got a processor while it was sampled: once more than it slept or was
    /// preempted. `None` if unknown.
    pub slices: Option<u64>,
    /// The function in which samples saw the thread for at least half of its time on a processor
    /// without polling; of several, the innermost. `None` if there is none, or too few samples.
    pub mostly: Option<String>,
    /// Seconds that the thread spent polling, as [`super::Figures::spun`].
    pub spun: f64,
    /// How the thread spent its time.
    pub times: Times,
    /// How the process's first thread takes part in this thread's work; `None` if samples do not
    /// show that it does.
    pub first: Option<TakingPart>,
    /// Acquisitions of locks.
    pub acquisitions: u64,
    /// Time waited.
    pub waiting: Waiting,
    /// Seconds waited for objects of each primitive.
    pub waited_for: BTreeMap<Primitive, f64>,
    /// What the thread waited for when the recording ended or was read; `None` if it did not wait.
    pub waiting_now: Option<WaitingNow>,
}

impl Thread {
    /// Seconds that the thread did not wait for other threads. A sleep of a given length does not
    /// count as a wait: it may simulate a device, or keep time.
    pub fn active(&self) -> f64 {
        let waiting = self.waiting.locks + self.waiting.futexes + self.waiting.events;
        (self.seconds - waiting + self.slept()).max(0.0)
    }

    /// Seconds that the thread slept for given lengths of time.
    pub fn slept(&self) -> f64 {
        self.waited_for.get(&Primitive::Sleep).copied().unwrap_or(0.0)
    }

    /// The thread's processor time in seconds; if that is not known, the time that it worked.
    pub fn ran(&self) -> f64 {
        self.cpu.unwrap_or_else(|| self.worked())
    }

    /// Like [`ran`](Self::ran), without the time that the thread polled.
    pub fn ran_without_polling(&self) -> f64 {
        self.cpu.map_or_else(|| self.worked(), |cpu| (cpu - self.spun).max(0.0))
    }

    /// Divides the thread's life into kinds of time.
    pub fn divided(&self) -> Times {
        Times::of(&Known {
            life: self.seconds,
            locks: self.waiting.locks,
            spinlocks: self.waited_for.get(&Primitive::Spinlock).copied().unwrap_or(0.0),
            futexes: self.waiting.futexes,
            events: self.waiting.events,
            spun: self.spun,
            cpu: self.cpu,
            ready: self.ready,
        })
    }

    /// Seconds in which the thread ran, slept, or waited for a device, and did not poll. Waits for
    /// other threads do not count, nor does the time in which the thread was ready and had no
    /// processor, if that is known. The figure is too small if a part of the ready time was at the
    /// end of waits. It is at least the processor time without polling, unless the thread also used
    /// a processor during waits, as for spinlocks.
    pub fn worked(&self) -> f64 {
        let without_ready = self.active() - self.ready.unwrap_or(0.0);
        let worked = without_ready.max(self.cpu.unwrap_or(0.0)).min(self.active());
        (worked - self.spun).max(0.0)
    }
}

/// How a process's first thread takes part in the work of another thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakingPart {
    /// The function that both run.
    pub function: String,
    /// Seconds of processor time that the first thread spent in that function, an estimate from
    /// samples.
    pub seconds: f64,
    /// The function in which the first thread spends most of its other time on a processor, as
    /// [`Thread::mostly`].
    pub otherwise: Option<String>,
}

/// A wait that had not ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitingNow {
    /// The operation.
    pub op: Op,
    /// The address of the object that the thread waits for.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// The object's index in [`super::Process::locks`]; `None` if unknown.
    pub lock: Option<usize>,
    /// The stack at which the thread waits; `None` if unknown.
    pub stack: Option<usize>,
    /// Seconds that the wait has lasted so far.
    pub seconds: f64,
    /// Index in [`super::Process::threads`] of the thread that is waited for: the holder of the
    /// lock when the wait began, or the thread that is joined; `None` if unknown.
    pub holder: Option<usize>,
    /// The stack at which the holder had acquired the lock; `None` if unknown.
    pub holder_stack: Option<usize>,
}
