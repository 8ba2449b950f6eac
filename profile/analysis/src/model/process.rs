//! A process.

use std::collections::BTreeSet;

use serde::Serialize;

use syncline_code::model::{Frame, Module, Stack};
use syncline_code::symbols::place::wraps_locks;

use super::asleep::Asleep;
use super::blocking::Blocking;
use super::figures::{Kind, Waiting};
use super::finding::Finding;
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
use super::whatif::WhatIf;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum State {
    /// By itself, as through `exit` or `_exit`, with this status if it is known.
    Exited {
        /// Exit status.
        status: Option<i32>,
    },
    /// By a signal.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// It still ran when the recording was read, with its file mapped; or recording ended before
    /// the process did.
    Running,
    /// It ended without a trace in the recording, replaced itself with another program, or still
    /// runs, for example in a container, where it can't be seen.
    Unknown,
}

/// A process: all that was recorded of it, added up.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Process number.
    pub pid: u32,
    /// Process number of its parent when recording began.
    pub parent: u32,
    /// Path of the executable.
    pub executable: String,
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// When recording began, in nanoseconds since 1970.
    pub started: u64,
    /// Seconds from then to the process's end; if it has not noted its end, to when it was read or
    /// last recorded something, or as long as `record` saw it run.
    pub seconds: f64,
    /// How it ended.
    pub state: State,
    /// Seconds that its threads lived, all together.
    pub thread_seconds: f64,
    /// Seconds that its threads waited, all together.
    pub waiting: Waiting,
    /// How all its threads together spent their time.
    pub times: Times,
    /// The share of the threads' time that was lost waiting for locks.
    pub lock_share: f64,
    /// How many locks are in each quadrant.
    pub lock_quadrants: QuadrantCounts,
    /// How many call sites are in each quadrant.
    pub site_quadrants: QuadrantCounts,
    /// Processors that the program could use; `None` if the recording does not say.
    pub processors: Option<usize>,
    /// Seconds in which these processors had nothing to do, all of them together; `None` if unknown, or if
    /// the process was there for a part of the recording only.
    pub idle: Option<f64>,
    /// Threads that can't continue.
    pub stuck: Vec<Stuck>,
    /// The findings, most gain first. If several runs were read as one, a gain is the mean over all
    /// runs, with 0 for runs without the finding.
    pub findings: Vec<Finding>,
    /// In how many runs each finding was seen, if several were read as one.
    pub runs: Option<Runs>,
    /// Locks and events that take time and that no finding explains: most of the critical path
    /// first, if enough of it is known, and then most time first.
    pub remaining: Vec<Remaining>,
    /// What the end of the run waited for.
    pub critical_path: CriticalPath,
    /// Calls of the kernel in which threads slept besides waits that were recorded, most time first.
    pub asleep: Vec<Asleep>,
    /// The results of `syncline whatif`, if it was run.
    pub whatif: Vec<WhatIf>,
    /// The locks and the other objects that were waited for: locks first, and most time waited
    /// first.
    pub locks: Vec<Lock>,
    /// The call sites, in the same order.
    pub sites: Vec<Site>,
    /// Which call sites make which others wait, most time first.
    pub blocking: Vec<Blocking>,
    /// Locks that were taken with others held.
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
    /// What could not be seen.
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

    /// The sleeps of one call site, if they are many and the largest part of the critical path, and
    /// the run waited for them for long while hardly any thread ran. `None` otherwise.
    pub fn held_up_by_sleep(&self) -> Option<&PathPart> {
        const MUCH: f64 = 0.3;
        let path = &self.critical_path;
        let meanwhile = self.ran() / self.seconds.max(f64::MIN_POSITIVE);
        let slept = path.parts.first().filter(|part| part.kind == OnPath::Sleep)?;
        let again_and_again = slept.pieces >= 20;
        (again_and_again && path.share(slept) - meanwhile >= MUCH).then_some(slept)
    }

    /// The call site at which threads take a lock that they hold while they sleep at the site
    /// `sleep`: it is in one of the functions that have called the sleep. Its sampled holds last at
    /// least half as long as a sleep on average, and are mostly spent without a processor. `None` if
    /// there is none.
    pub fn held_while_asleep(&self, sleep: usize) -> Option<usize> {
        /// The least share of the time without a processor, in holds that are mostly sleep.
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

    /// The results of slowing this call site down. The call site may be that of a finding, or of
    /// another item that takes time.
    pub fn whatif(&self, place: &str) -> impl Iterator<Item = &WhatIf> {
        self.whatif.iter().filter(move |whatif| whatif.place == place)
    }

    /// Findings that only other runs have, if several were read as one, each with the number of all
    /// runs.
    pub fn in_other_runs(&self) -> impl Iterator<Item = (&Seen, usize)> {
        let runs = self.runs.iter();
        runs.flat_map(|all| all.findings.iter().map(|seen| (seen, all.runs.len())))
            .skip(self.findings.len())
    }

    /// Seconds that threads were ready to run and had no processor, as far as that is known.
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

    /// All frames of a stack, to distinguish what one line does for different callers.
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
