//! Adds samples up: equal stacks of a thread are counted together, and stacks share their outer
//! frames.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use nix::libc::SYS_futex;
use syncline_recording::{PythonFrame, SampledProcess, SampledThread, Samples, UnreadRequests};

use crate::asleep::{Asleep, State, Thread};
use crate::clock::Sample;
use crate::inner::Inner;
use crate::mapped::Files;
use crate::unwinding::{Cache, Mapped};

/// The most frames that are kept of a process, which take a few megabytes. Samples with further
/// frames are lost.
const MOST_FRAMES: usize = 100_000;

/// The sum of all samples so far.
#[derive(Default)]
pub struct Gathered {
    lost: u64,
    processes: HashMap<u32, Process>,
    files: Files,
    cache: Cache,
    inner: Inner,
    stack: Vec<u64>,
}

#[derive(Default)]
struct Process {
    mapped: Mapped,
    /// The frames, each with its caller's number and its address, as in [`SampledProcess`].
    frames: Vec<(u32, u64)>,
    numbers: HashMap<(u32, u64), u32>,
    /// The processor time that the samples of a thread at a frame stand for, in nanoseconds.
    seen: HashMap<(u32, Seen), u64>,
    /// The processor time that all samples of a thread stand for, in nanoseconds.
    covered: HashMap<u32, u64>,
    /// How often a thread got a processor.
    slices: HashMap<u32, u64>,
    /// How long a thread slept, in nanoseconds.
    slept: HashMap<(u32, Slept), u64>,
    /// How long a thread slept while requests that it could have served were unread, in
    /// nanoseconds.
    beside: HashMap<(u32, Slept), u64>,
    unread: UnreadRequests,
    /// The positions in Python functions, and the index of each.
    python: Vec<PythonFrame>,
    python_numbers: HashMap<PythonFrame, u64>,
}

/// Where a thread uses a processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The frame.
    pub frame: u32,
    /// Whether the thread executes in the kernel.
    pub in_kernel: bool,
}

/// Where a thread sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slept {
    /// The frame.
    pub frame: u32,
    /// The system call.
    pub call: u32,
    /// The address of the futex if a Python function sleeps in one, else 0.
    pub python_futex: u64,
    /// Whether it waits for input that its own process gives.
    pub inner: bool,
}

impl Gathered {
    /// No samples yet. `recorder` is the recorder's file, if it is attached to running processes.
    pub fn new(recorder: Option<PathBuf>) -> Gathered {
        Gathered { files: Files::new(recorder), ..Gathered::default() }
    }

    /// The number of the innermost frame of a sample's stack, in its process; `None` if there is no
    /// room for more frames.
    pub fn frame(&mut self, pid: u32, sample: &Sample) -> Option<u32> {
        let process = self.processes.entry(pid).or_default();
        process.mapped.stack(pid, sample, &mut self.files, &mut self.cache, &mut self.stack);
        process.innermost(&self.stack)
    }

    /// Where a thread sleeps; `None` if there is no room for more frames. If the thread is in
    /// Python's interpreter, its Python functions replace the interpreter's functions and their
    /// callers. The interpreter knows the thread by the number `own`.
    pub fn asleep(&mut self, thread: Thread, own: u32, asleep: &Asleep) -> Option<Slept> {
        let Asleep { state, stack } = asleep;
        let &State { call, arguments: [argument, ..], sp, ip } = state;
        let process = self.processes.entry(thread.0).or_default();
        let sample = Sample { in_kernel: true, ip, sp, bp: 0, stack, outer: None };
        process.mapped.stack(thread.0, &sample, &mut self.files, &mut self.cache, &mut self.stack);
        let inner = self.inner.awaits(thread.0, state);
        let mut python_futex = 0;
        if let Some(python) = process.mapped.python()
            && let Some(functions) = python.frames(own).filter(|functions| !functions.is_empty())
            // The thread has not run while its functions were read.
            && asleep.goes_on(thread)
        {
            // If the interpreter's function is not found, the stack ends before it.
            let inside = self.stack.iter().position(|&address| python.evaluates(address));
            self.stack.truncate(inside.unwrap_or(self.stack.len()));
            for function in functions {
                self.stack.push(process.python(function)?);
            }
            python_futex = if i64::from(call) == SYS_futex { argument } else { 0 };
        }
        Some(Slept { frame: process.innermost(&self.stack)?, call, python_futex, inner })
    }

    /// Adds processor time of a thread at a frame, in nanoseconds.
    pub fn see(&mut self, (pid, tid): Thread, seen: Seen, nanoseconds: u64) {
        let process = self.processes.entry(pid).or_default();
        *process.seen.entry((tid, seen)).or_default() += nanoseconds;
    }

    /// Adds time that a thread slept at a frame in a system call, in nanoseconds.
    pub fn sleep(&mut self, (pid, tid): Thread, slept: Slept, nanoseconds: u64) {
        let process = self.processes.entry(pid).or_default();
        *process.slept.entry((tid, slept)).or_default() += nanoseconds;
    }

    /// Adds time for which requests of a process were unread, in nanoseconds, and on how many
    /// connections.
    pub fn leave_unread(&mut self, pid: u32, connections: u64, nanoseconds: u64) {
        let unread = &mut self.processes.entry(pid).or_default().unread;
        unread.looks += 1;
        unread.nanoseconds += nanoseconds;
        unread.times_connections += connections * nanoseconds;
    }

    /// Adds time that a thread slept while requests that it could have served were unread, in
    /// nanoseconds.
    pub fn sleep_beside(&mut self, (pid, tid): Thread, slept: Slept, nanoseconds: u64) {
        let process = self.processes.entry(pid).or_default();
        *process.beside.entry((tid, slept)).or_default() += nanoseconds;
    }

    /// Adds a number of lost samples.
    pub fn lose(&mut self, samples: u64) {
        self.lost += samples;
    }

    /// Adds processor time of a thread for which its samples stand, in nanoseconds.
    pub fn cover(&mut self, (pid, tid): Thread, nanoseconds: u64) {
        let process = self.processes.entry(pid).or_default();
        *process.covered.entry(tid).or_default() += nanoseconds;
    }

    /// Adds how often a thread got a processor.
    pub fn run(&mut self, (pid, tid): Thread, slices: u64) {
        if slices > 0 {
            let process = self.processes.entry(pid).or_default();
            *process.slices.entry(tid).or_default() += slices;
        }
    }

    /// All samples, with the reason why the kernel refused more, if it did. Threads and processes
    /// get the numbers that `own` gives; threads without such a number are left out.
    pub fn samples(
        &self,
        refused: Option<String>,
        own: impl Fn(Thread) -> Option<Thread>,
    ) -> Samples {
        let mut processes: Vec<SampledProcess> = self
            .processes
            .iter()
            .filter_map(|(&pid, process)| process.samples(pid, &own))
            .collect();
        processes.sort_by_key(|process| process.pid);
        Samples { version: Samples::VERSION, lost: self.lost, refused, processes }
    }
}

impl Process {
    /// The number of the innermost frame of a stack; `None` if there is no room for its frames.
    fn innermost(&mut self, stack: &[u64]) -> Option<u32> {
        stack.iter().rev().try_fold(0, |caller, &address| self.frame(caller, address))
    }

    /// The address that stands for a position in a Python function; `None` if there is no room for
    /// it.
    fn python(&mut self, function: PythonFrame) -> Option<u64> {
        let known = self.python_numbers.get(&function).copied();
        let number = match known {
            Some(number) => number,
            None if self.python.len() >= MOST_FRAMES => return None,
            None => {
                let number = self.python.len() as u64;
                self.python.push(function.clone());
                self.python_numbers.insert(function, number);
                number
            }
        };
        Some(SampledProcess::PYTHON + number)
    }

    /// The number of the frame at this address with this caller: its index plus 1. `None` if there
    /// is no room for it.
    fn frame(&mut self, caller: u32, address: u64) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&(caller, address)) {
            return Some(number);
        }
        if self.frames.len() >= MOST_FRAMES {
            return None;
        }
        self.frames.push((caller, address));
        let number = self.frames.len() as u32;
        self.numbers.insert((caller, address), number);
        Some(number)
    }

    fn samples(&self, pid: u32, own: impl Fn(Thread) -> Option<Thread>) -> Option<SampledProcess> {
        let mut threads: BTreeMap<u32, SampledThread> = BTreeMap::new();
        for (&tid, &covered) in &self.covered {
            threads.entry(tid).or_default().covered = covered;
        }
        for (&tid, &slices) in &self.slices {
            threads.entry(tid).or_default().slices = slices;
        }
        for (&(tid, Seen { frame, in_kernel }), &nanoseconds) in &self.seen {
            let thread = threads.entry(tid).or_default();
            let frames = if in_kernel { &mut thread.in_kernel } else { &mut thread.seen };
            frames.push((frame, nanoseconds));
        }
        let slept = |(slept, nanoseconds): (Slept, u64)| {
            (slept.frame, slept.call, slept.python_futex, nanoseconds)
        };
        for (&(tid, place), &nanoseconds) in &self.slept {
            let thread = threads.entry(tid).or_default();
            thread.slept.push(slept((place, nanoseconds)));
            if place.inner {
                thread.inner.push(slept((place, nanoseconds)));
            }
        }
        for (&(tid, place), &nanoseconds) in &self.beside {
            threads.entry(tid).or_default().beside_unread.push(slept((place, nanoseconds)));
        }
        let mut own_pid = None;
        let mut numbered = Vec::new();
        for (tid, mut thread) in threads {
            let Some((pid, tid)) = own((pid, tid)) else { continue };
            own_pid = Some(pid);
            thread.tid = tid;
            thread.seen.sort_unstable();
            thread.in_kernel.sort_unstable();
            thread.slept.sort_unstable();
            thread.inner.sort_unstable();
            thread.beside_unread.sort_unstable();
            numbered.push(thread);
        }
        Some(SampledProcess {
            pid: own_pid?,
            frames: self.frames.clone(),
            python: self.python.clone(),
            threads: numbered,
            unread: self.unread,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_of_a_thread_are_one_and_share_their_callers() {
        let mut gathered = Gathered::default();
        const PID: u32 = u32::MAX;
        let mut frame = |ip| {
            // No process has this number, so no module is known and the stack is one frame.
            let sample = Sample { in_kernel: false, ip, sp: 0, bp: 0, stack: &[], outer: None };
            let frame = gathered.frame(PID, &sample).expect("there is room");
            Seen { frame, in_kernel: false }
        };
        let (one, other, again) = (frame(0x10), frame(0x20), frame(0x10));
        gathered.see((PID, 1), one, 4);
        gathered.see((PID, 1), again, 5);
        gathered.see((PID, 1), Seen { in_kernel: true, ..other }, 2);
        gathered.see((PID, 1), other, 6);
        gathered.see((PID, 2), one, 7);
        gathered.see((PID, 3), one, 8);
        let slept = Slept { frame: one.frame, call: 7, python_futex: 0, inner: false };
        gathered.sleep((PID, 2), slept, 10);
        for nanoseconds in [20, 30] {
            gathered.sleep((PID, 2), Slept { python_futex: 0x40, ..slept }, nanoseconds);
        }
        gathered.lose(3);
        gathered.cover((PID, 1), 15);
        gathered.run((PID, 1), 3);
        gathered.run((PID, 1), 4);
        let samples = gathered.samples(None, |thread| (thread.1 != 3).then_some(thread));
        assert_eq!(samples.lost, 3);
        let [process] = &samples.processes[..] else { panic!("{samples:?}") };
        assert_eq!(process.frames, [(0, 0x10), (0, 0x20)]);
        let first = SampledThread {
            tid: 1,
            covered: 15,
            slices: 7,
            seen: vec![(1, 9), (2, 6)],
            in_kernel: vec![(2, 2)],
            ..SampledThread::default()
        };
        let second = SampledThread {
            tid: 2,
            covered: 0,
            seen: vec![(1, 7)],
            slept: vec![(1, 7, 0, 10), (1, 7, 0x40, 50)],
            ..SampledThread::default()
        };
        assert_eq!(process.threads, [first, second]);
    }
}
