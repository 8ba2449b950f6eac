//! A process.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use syncline_code::model::{Frame, Module, Stack};
use syncline_code::symbols::place::wraps_locks;

use super::atomics::Atomics;
use super::blocking::Blocking;
use super::figures::{Kind, Waiting};
use super::finding::Finding;
use super::in_call::InCall;
use super::lock::Lock;
use super::nesting::Nesting;
use super::note::Note;
use super::path::{CriticalPath, OnPath, PathPart};
use super::quadrant::QuadrantCounts;
use super::remaining::Remaining;
use super::runs::{Runs, Seen};
use super::site::Site;
use super::stuck::Stuck;
use super::thread::Thread;
use super::timeline::Timeline;
use super::times::Times;
use super::unread::Unread;
use super::whatif::WhatIf;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum State {
    /// The process exited by itself, through `exit` or `_exit` for example.
    Exited {
        /// The exit status; `None` if unknown.
        status: Option<i32>,
    },
    /// A signal ended the process.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The process replaced itself with another program (`exec`), which has a file of its own.
    Executed,
    /// The process still ran, with its file mapped, when the recording was read; or recording ended
    /// before the process did.
    Running,
    /// Not known: the process ended without a trace in the recording, replaced itself with a program
    /// that has no file, or still runs where it can't be seen, for example in a container.
    Unknown,
}

impl State {
    /// Whether the program itself ended its run: it exited, or executed another program.
    pub fn is_own_end(self) -> bool {
        matches!(self, State::Exited { .. } | State::Executed)
    }
}

/// A process: the sums of all that was recorded of it, and the findings.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Process ID.
    pub pid: u32,
    /// Process ID of the parent when recording began.
    pub parent: u32,
    /// Path of the executable.
    pub executable: String,
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// When recording began, in nanoseconds since 1970.
    pub started: u64,
    /// Seconds from the beginning of recording to the process's end. If the process has not noted
    /// its end: to the moment when the recording was read or the process last recorded something,
    /// or for as long as `record` saw it run.
    pub seconds: f64,
    /// How the process ended.
    pub state: State,
    /// Seconds that the process's threads lived, summed.
    pub thread_seconds: f64,
    /// Seconds that the process's threads waited, summed.
    pub waiting: Waiting,
    /// How the process's threads spent their time, summed.
    pub times: Times,
    /// The share of the threads' time that was lost waiting for locks.
    pub lock_share: f64,
    /// How many locks are in each quadrant.
    pub lock_quadrants: QuadrantCounts,
    /// How many call sites are in each quadrant.
    pub site_quadrants: QuadrantCounts,
    /// Processors that the program could use; `None` if the recording does not say.
    pub processors: Option<usize>,
    /// Whether the process ran already when its recording began. Then locks may be held that no
    /// recorded call has acquired.
    pub attached: bool,
    /// Seconds in which these processors were idle, summed; `None` if unknown, or if the process
    /// ran for only a part of the recording.
    pub idle: Option<f64>,
    /// Threads that can't continue.
    pub stuck: Vec<Stuck>,
    /// The findings, those with most gain first. If several runs were read as one, a gain is the
    /// mean over all runs, with 0 for runs without the finding.
    pub findings: Vec<Finding>,
    /// In how many runs each finding was seen; `None` unless several runs were read as one.
    pub runs: Option<Runs>,
    /// Locks and events that take time and that no finding explains. Those with most of the
    /// critical path come first, if enough of the path is known; otherwise those with most time.
    pub remaining: Vec<Remaining>,
    /// What the end of the run waited for.
    pub critical_path: CriticalPath,
    /// System calls in which threads slept, other than recorded waits, those with most time first.
    pub asleep: Vec<InCall>,
    /// Those of the sleeps in `asleep` in which threads waited for nothing but input that the
    /// process itself gives: by an event counter, a pipe or a pair of Unix sockets.
    pub inner: Vec<InCall>,
    /// Requests that waited while every thread slept; `None` if there were none.
    pub unread: Option<Unread>,
    /// System calls in which threads used a processor, other than recorded calls, those with most
    /// time first. Their names are those of the functions that make them.
    pub in_kernel: Vec<InCall>,
    /// Functions whose atomic instructions took processor time, those with most time first. Atomic
    /// instructions inside recorded calls are left out.
    pub atomics: Vec<Atomics>,
    /// The results of `syncline whatif`, if it was run.
    pub whatif: Vec<WhatIf>,
    /// The locks and other objects that threads use. Locks come before futexes and events; within
    /// each kind, those with most time waited come first.
    pub locks: Vec<Lock>,
    /// The call sites, in the same order: by kind, then by time waited.
    pub sites: Vec<Site>,
    /// Which call sites make which others wait, those with most time first.
    pub blocking: Vec<Blocking>,
    /// Locks that were taken while others were held.
    pub nesting: Vec<Nesting>,
    /// The timeline of the threads. Not part of the JSON report: `syncline export` has it.
    #[serde(skip)]
    pub timeline: Timeline,
    /// The threads, in the order of their creation.
    pub threads: Vec<Thread>,
    /// The call stacks. Index 0 is the empty stack.
    pub stacks: Vec<Stack>,
    /// The frames of the stacks: positions in the code.
    pub frames: Vec<Frame>,
    /// The program and its libraries.
    pub modules: Vec<Module>,
    /// The limits of what was recorded.
    #[serde(serialize_with = "super::note::with_messages")]
    pub notes: Vec<Note>,
}

impl Process {
    /// The executable's name without its folders, or `process PID` if it has none.
    pub fn name(&self) -> String {
        match self.executable.rsplit('/').next() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("process {}", self.pid),
        }
    }

    /// The sleeps at one call site that hold the run up; `None` if there are none. There are at
    /// least 20 of them, and they are the largest part of the critical path. During much of them no
    /// thread ran: all other threads waited, or the threads hardly ran in the whole run.
    pub fn held_up_by_sleep(&self) -> Option<&PathPart> {
        const MUCH: f64 = 0.3;
        // If the other threads waited for this share of the path, it is certain that no thread ran
        // then.
        const CERTAIN: f64 = 0.15;
        let path = &self.critical_path;
        let meanwhile = self.ran() / self.seconds.max(f64::MIN_POSITIVE);
        let slept = path.parts.first().filter(|part| part.kind == OnPath::Sleep)?;
        let again_and_again = slept.pieces >= 20;
        let alone = slept.site.map_or(0.0, |site| path.alone(site));
        let idle = alone >= CERTAIN || path.share(slept) - meanwhile >= MUCH;
        (again_and_again && idle).then_some(slept)
    }

    /// The function in which the threads of a part of the critical path spend most of their time on
    /// a processor. `None` if the threads that mostly run one function have less than half of that
    /// time.
    pub fn mostly_in(&self, part: &PathPart) -> Option<&str> {
        let threads = || part.threads.iter().map(|&thread| &self.threads[thread]);
        let all: f64 = threads().map(Thread::ran).sum();
        let mut functions: BTreeMap<&str, f64> = BTreeMap::new();
        for thread in threads() {
            if let Some(function) = &thread.mostly {
                *functions.entry(function).or_default() += thread.ran();
            }
        }
        let most = functions.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.filter(|(_, ran)| 2.0 * ran >= all).map(|(function, _)| function)
    }

    /// The system call in which the threads of a part of the critical path spend most of their time
    /// in the kernel; `None` if that is unknown.
    pub fn asleep_in(&self, part: &PathPart) -> Option<&InCall> {
        let kernel = |&thread: &usize| self.threads[thread].times.kernel;
        self.asleep.iter().find(|asleep| {
            part.threads.iter().all(|thread| asleep.threads.contains(thread))
                && 2.0 * asleep.seconds >= asleep.threads.iter().map(kernel).sum()
        })
    }

    /// The call site at which threads take a lock that they hold while they sleep at the site
    /// `sleep`; `None` if there is none. It is in one of the functions through which the sleep was
    /// called. On average, the holders slept at least once in every two sampled holds. These holds
    /// last at least half as long as a sleep on average, and are mostly spent without a processor.
    pub fn held_while_asleep(&self, sleep: usize) -> Option<usize> {
        /// Holds are mostly sleep if the holders have no processor for at least this share of their
        /// time.
        const MOSTLY: f64 = 0.5;
        let slept = &self.sites[sleep];
        let mean = slept.figures.waited / slept.figures.waits.max(1) as f64;
        let frames = slept.stacks.iter().flat_map(|&stack| self.frames_of(stack));
        let callers: BTreeSet<&str> = frames.map(Frame::whole_function).collect();
        let sleeps = |site: &Site| {
            let holder = site.figures.holder;
            2 * holder.slept >= holder.looked_at
                && 2.0 * holder.seconds >= mean * holder.looked_at as f64
                && holder.off_cpu_share() >= MOSTLY
        };
        self.sites.iter().position(|site| {
            site.kind == Kind::Lock
                && site.figures.holder.looked_at > 0
                && self.is_in(site, &callers)
                && sleeps(site)
        })
    }

    /// The results of slowing down the call site `place`, which may be that of a finding or of
    /// another item that takes time.
    pub fn whatif(&self, place: &str) -> impl Iterator<Item = &WhatIf> {
        self.whatif.iter().filter(move |whatif| whatif.place == place)
    }

    /// Findings that only other runs have, if several runs were read as one, each with the total
    /// number of runs.
    pub fn in_other_runs(&self) -> impl Iterator<Item = (&Seen, usize)> {
        let runs = self.runs.iter();
        runs.flat_map(|all| all.findings.iter().map(|seen| (seen, all.runs.len())))
            .skip(self.findings.len())
    }

    /// Seconds that threads were ready to run and had no processor, summed over the threads for
    /// which this is known.
    pub fn ready(&self) -> f64 {
        self.threads.iter().filter_map(|thread| thread.ready).sum()
    }

    /// Seconds that all threads together had a processor. For a thread whose processor time is
    /// unknown, the seconds that it worked.
    pub fn ran(&self) -> f64 {
        self.threads.iter().map(Thread::ran).sum()
    }

    /// Seconds that threads spent polling, as [`super::Figures::spun`].
    pub fn spun(&self) -> f64 {
        self.sites.iter().map(|site| site.figures.spun).sum()
    }

    /// Seconds that the run takes at least: the threads' processor time without polling, divided by
    /// the number of processors.
    pub fn least_seconds(&self) -> f64 {
        let worked: f64 = self.threads.iter().map(Thread::ran_without_polling).sum();
        worked / self.processors.unwrap_or(usize::MAX).max(1) as f64
    }

    /// Indices of the locks, and of the other objects to wait for, that are used at a site.
    pub fn used_at(&self, site: usize) -> impl Iterator<Item = usize> {
        let here = move |lock: &Lock| lock.sites.iter().any(|used| used.site == site);
        (0..self.locks.len()).filter(move |&lock| here(&self.locks[lock]))
    }

    /// Indices of the threads that made calls at these sites.
    pub fn threads_at(&self, sites: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        sites.flat_map(|site| &self.sites[site].by_thread).map(|&(thread, _)| thread).collect()
    }

    /// The function that a site is in, if that is known.
    pub fn function_of(&self, site: &Site) -> Option<&str> {
        Some(self.frames[site.frame?].whole_function())
    }

    /// The functions that sites are in, as far as they are known.
    pub fn functions_of<'a>(&'a self, sites: impl Iterator<Item = &'a Site>) -> BTreeSet<&'a str> {
        sites.filter_map(|site| self.function_of(site)).collect()
    }

    /// Whether a site is in one of these functions.
    pub fn is_in(&self, site: &Site, functions: &BTreeSet<&str>) -> bool {
        self.function_of(site).is_some_and(|function| functions.contains(function))
    }

    /// The frame in which the program's own code calls the lock's function: the innermost that is
    /// not a lock wrapper of a library. It may be a function that takes the lock on behalf of the
    /// site's function. `None` if there is no such frame.
    pub fn call_of(&self, site: &Site) -> Option<usize> {
        let frames = &self.stacks.get(*site.stacks.first()?)?.frames;
        frames.iter().copied().find(|&frame| !wraps_locks(&self.frames[frame], &self.modules))
    }

    /// The indexes of all frames of a stack, to distinguish what one line does for different
    /// callers.
    pub fn calls_of(&self, stack: usize) -> &[usize] {
        self.stacks.get(stack).map_or(&[], |stack| &stack.frames)
    }

    /// The frames of a stack, the innermost first.
    pub fn frames_of(&self, stack: usize) -> impl Iterator<Item = &Frame> {
        let frames = self.stacks.get(stack).map_or(&[][..], |s| &s.frames);
        frames.iter().map(|&frame| &self.frames[frame])
    }

    /// The locks, without the other objects that threads wait for.
    pub fn only_locks(&self) -> impl Iterator<Item = &Lock> {
        self.locks.iter().filter(|lock| lock.kind == Kind::Lock)
    }
}
