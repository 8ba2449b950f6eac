//! A thread.

use std::collections::BTreeMap;

use serde::Serialize;
use syncline_recording::{Op, Primitive};

use super::figures::Waiting;
use super::times::Known;
use super::times::Times;

/// A thread, or several successive ones with the same start function, if there were more threads
/// than a recording distinguishes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thread {
    /// Its number in the recording.
    pub index: u32,
    /// Its thread number in the kernel.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// How many threads this record stands for: 1, or the number of successive threads added up.
    pub lifetimes: u32,
    /// Its start function; `None` for the first thread, and for a thread whose creation was not
    /// seen.
    pub start_function: Option<String>,
    /// Stack of its creation, if that was recorded.
    pub created_at: Option<usize>,
    /// Index in [`super::Process::threads`] of the thread that created it.
    pub creator: Option<usize>,
    /// When it began, in seconds since the recording began. If the record stands for several
    /// threads, when the latest began.
    pub started: f64,
    /// Seconds from its start to its end, or to the recording's end if it lived longer; the sum if
    /// the record stands for several threads.
    pub seconds: f64,
    /// Whether it ended before the recording did.
    pub ended: bool,
    /// Seconds of processor time. For a thread that did not end and was not sampled when the
    /// recording ended or was read, they are extrapolated from its last sample, if that was in the
    /// second half of its life. `None` without such a sample, or if the thread may have run before
    /// its process was attached to.
    pub cpu: Option<f64>,
    /// Seconds that it was ready to run and had no processor, including at the end of a wait;
    /// `None` if it still lived when the process ended, and could not be sampled then.
    pub ready: Option<f64>,
    /// Seconds that it spent polling, as [`super::Figures::spun`].
    pub spun: f64,
    /// How it spent its time.
    pub times: Times,
    /// How the first thread takes part in this thread's work; `None` if it does not, as far as
    /// samples show.
    pub first: Option<TakingPart>,
    /// Acquisitions of locks.
    pub acquisitions: u64,
    /// Time waited.
    pub waiting: Waiting,
    /// Seconds waited for each kind of object.
    pub waited_for: BTreeMap<Primitive, f64>,
    /// What it was waiting for when the recording ended, or when it was read.
    pub waiting_now: Option<WaitingNow>,
}

impl Thread {
    /// Seconds that it did not wait for others. A sleep of a given length does not count as a wait:
    /// it may simulate a device, or keep time.
    pub fn active(&self) -> f64 {
        let waiting = self.waiting.locks + self.waiting.futexes + self.waiting.events;
        (self.seconds - waiting + self.slept()).max(0.0)
    }

    /// Seconds that it slept for given lengths of time.
    pub fn slept(&self) -> f64 {
        self.waited_for.get(&Primitive::Sleep).copied().unwrap_or(0.0)
    }

    /// Its processor time; if that is not known, the time that it worked.
    pub fn ran(&self) -> f64 {
        self.cpu.unwrap_or_else(|| self.worked())
    }

    /// Divides its life into kinds of time.
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

    /// Seconds in which it ran, slept, or waited for a device, and did not poll. Waits for other
    /// threads do not count, nor does the time in which it was ready and had no processor, if that
    /// is known. The figure is too small if it was without a processor at the end of other waits,
    /// but never smaller than its processor time without polling.
    pub fn worked(&self) -> f64 {
        let without_ready = self.active() - self.ready.unwrap_or(0.0);
        let worked = without_ready.max(self.cpu.unwrap_or(0.0)).min(self.active());
        (worked - self.spun).max(0.0)
    }
}

/// That the first thread does the work of another one as well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakingPart {
    /// The function that both run.
    pub function: String,
    /// Seconds of processor time that the first thread spent in it, an estimate from samples.
    pub seconds: f64,
}

/// A wait that had not ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitingNow {
    /// The operation.
    pub op: Op,
    /// Address of the object that it waits for.
    #[serde(serialize_with = "syncline_code::model::hex::one")]
    pub address: u64,
    /// Index in [`super::Process::locks`].
    pub lock: Option<usize>,
    /// Its stack, if there is one.
    pub stack: Option<usize>,
    /// Seconds so far.
    pub seconds: f64,
    /// For a lock: index in [`super::Process::threads`] of the holder when the wait began.
    pub holder: Option<usize>,
    /// Stack at which that thread had acquired it.
    pub holder_stack: Option<usize>,
}
