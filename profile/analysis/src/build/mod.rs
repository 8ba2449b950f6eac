//! Adds up the file of a process.
//!
//! The rows of a recording say what *one thread* did to *one lock* at *one call site*. Here they
//! are summed in three ways: by lock, by call site and by thread. Counters are summed in ticks, and
//! then converted to seconds. An impossible value (of a counter that was overwritten) makes a
//! figure wrong, but causes no failure.

mod atomics;
mod blocking;
mod clock;
mod holds;
mod in_call;
mod locks;
mod nesting;
mod notes;
mod ops;
mod processor;
mod profile;
mod python;
mod sections;
mod seen;
mod sites;
mod sleeps;
mod stacks;
mod sum;
mod taking_part;
mod tally;
mod threads;
mod timeline;

use syncline_recording::layout::{PROCESS_EXITED, PROCESS_LEFT, SEEN};
use syncline_recording::{Ending, Op, ProcessFile, Samples, Session, Thread};

use crate::findings;
use crate::model::{CriticalPath, Process, State, Times, Waiting};
use crate::options::Options;
use crate::path;
use blocking::Pairs;
pub use clock::Clock;
pub use holds::Interruptions;
use locks::Locks;
use nesting::Nests;
pub use ops::wants_or_waits;
use sites::Sites;
use stacks::Stacks;
use syncline_code::symbols::Symbols;
pub use tally::{Tally, waiting_op};

/// What is known about a process in addition to its file.
pub struct Context<'a> {
    /// What was run; `None` if unknown.
    pub session: Option<&'a Session>,
    /// Samples of where threads were while they ran; `None` if the recording has none.
    pub samples: Option<&'a Samples>,
    /// What the user chose.
    pub options: &'a Options,
}

impl Context<'_> {
    /// Adds up a file. `progress` gets the number of stacks that have been named, and the number of
    /// all stacks.
    pub fn process(
        &self,
        file: &ProcessFile,
        symbols: Symbols,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Process {
        let session = self.session.filter(|session| session.pid == file.header.pid);
        let clock = Clock::new(file, session);
        let samples = self.samples.and_then(|all| all.of(file.header.pid));
        let mut stacks = Stacks::new(file, samples, symbols, progress);
        let mut locks = Locks::default();
        let mut sites = Sites::default();
        let mut pairs = Pairs::default();
        let mut nests = Nests::default();
        for (t, thread) in file.threads.iter().enumerate() {
            let interruptions = Interruptions::of(&thread.record, &clock);
            for row in &thread.rows {
                let stack = stacks.of_row(t, row);
                let tally = Tally::of_row(row, interruptions);
                let site = sites.add(row.op, &stacks, stack, row.counts.lock, t, &tally);
                locks.add(row.op, row.counts.lock, (site, stack, t), &tally);
                pairs.add(row, site, stack, &stacks);
                nests.add(row, site, stack, &stacks);
            }
            if let Some((op, tally)) = Tally::of_wait(&thread.record, &clock) {
                let lock = thread.record.waiting_lock;
                let stack = stacks.of_call(Some(t), thread.record.waiting_stack, lock);
                let site = sites.add(op, &stacks, stack, lock, t, &tally);
                locks.add(op, lock, (site, stack, t), &tally);
            }
        }
        let seen = seen::find(file, samples, &clock, &mut stacks);
        for spin in &seen.spins {
            let tally = Tally { spun: spin.ticks, ..Tally::default() };
            let site = sites.add(Op::Spin, &stacks, spin.stack, 0, spin.thread, &tally);
            locks.add(Op::Spin, 0, (site, spin.stack, spin.thread), &tally);
        }
        let atomics = atomics::by_function(&seen.atomics, &mut stacks, &clock);
        let in_kernel = in_call::running(&seen.calls, &mut stacks, &clock);
        let asleep = in_call::asleep(file, samples, &mut stacks);
        let inner = in_call::inner(file, samples, &mut stacks);
        let unread = samples.and_then(|samples| in_call::unread(file, samples, &mut stacks));
        let taking_part = taking_part::find(file, samples, &clock, &mut stacks);
        let log = |(t, thread): (usize, &Thread)| timeline::log(t, &thread.log, &sites, &stacks);
        let logs = file.threads.iter().enumerate().map(log).collect();
        let thresholds = &self.options.thresholds;
        let (mut sites, site_numbers) = sites.finish(&stacks, &clock, thresholds);
        let pairs = pairs.finish(&site_numbers, &sites, file, &clock);
        let locks = locks.finish(&site_numbers, &pairs, &mut stacks, &clock, thresholds);
        let nesting = nests.finish(&site_numbers, &locks);
        let timeline = timeline::timeline(file, logs, &site_numbers, &locks, &stacks, &clock);
        let threads =
            threads::threads(file, samples, &locks, &seen.spins, taking_part, &mut stacks, &clock);
        let mut waiting = Waiting::default();
        for site in &sites {
            waiting.add(site.kind, site.figures.waited);
        }
        let thread_seconds: f64 = threads.iter().map(|thread| thread.seconds).sum();
        let blocking = blocking::over_all_locks(&pairs, &stacks);
        let (known, symbols) = stacks.with_symbols();
        sections::fill(&mut sites, known, symbols);
        sleeps::fill(&mut sites, known, symbols);
        let (stacks, frames, modules) = stacks.into_tables();
        self.options.inspections.fill(&mut sites, &stacks, &modules);
        let mut process = Process {
            pid: file.header.pid,
            parent: file.header.parent,
            executable: file.executable(),
            arguments: arguments(file, session),
            started: file.header.started_realtime,
            seconds: clock.run_seconds(),
            state: state(file, session),
            thread_seconds,
            waiting,
            times: Times::sum(threads.iter().map(|thread| thread.times)),
            lock_share: if thread_seconds > 0.0 { waiting.locks / thread_seconds } else { 0.0 },
            lock_quadrants: locks.iter().filter_map(|lock| lock.quadrant).collect(),
            site_quadrants: sites.iter().filter_map(|site| site.quadrant).collect(),
            processors: self.session.map(|session| session.processors),
            attached: file.header.attached != 0,
            idle: self.session.and_then(|session| idle(session, clock.run_seconds())),
            stuck: Vec::new(),
            findings: Vec::new(),
            runs: None,
            remaining: Vec::new(),
            critical_path: CriticalPath::default(),
            asleep,
            inner,
            unread,
            in_kernel,
            atomics,
            whatif: Vec::new(),
            locks,
            sites,
            blocking,
            nesting,
            timeline,
            threads,
            stacks,
            frames,
            modules,
            notes: Vec::new(),
        };
        process.critical_path = path::critical_path(&process);
        process.stuck = findings::stuck::find(&process);
        process.findings = findings::find(&process, thresholds);
        process.remaining = findings::remaining::find(&process, &process.findings);
        process.notes = notes::notes(file, &process);
        process
    }
}

/// How long processors were idle, in seconds. `None` if unknown, or if the process ran for less
/// than nine tenths of the recording.
fn idle(session: &Session, seconds: f64) -> Option<f64> {
    const NEARLY_ALL: f64 = 0.9;
    session.idle.filter(|_| session.seconds.is_some_and(|all| seconds >= NEARLY_ALL * all))
}

/// The program's arguments. A process's file does not say where they end, so empty arguments at the
/// end are only known for the process that `record` started.
fn arguments(file: &ProcessFile, session: Option<&Session>) -> Vec<String> {
    let known = file.arguments();
    let whole = session.map(|session| &session.command).filter(|command| {
        let rest = command.strip_prefix(known.as_slice());
        rest.is_some_and(|rest| rest.iter().all(String::is_empty))
    });
    whole.cloned().unwrap_or(known)
}

/// How a process ended. This is what `record` saw, or else what the process's parent saw, or else
/// what the process itself wrote. What `record` saw applies to the last program that the process
/// ran.
fn state(file: &ProcessFile, session: Option<&Session>) -> State {
    let executed = file.next_program().exists();
    let ending = session.and_then(|session| session.ending);
    match ending.filter(|_| !executed) {
        Some(Ending::Status(status)) => State::Exited { status: Some(status) },
        Some(Ending::Signal(signal)) => State::Killed { signal },
        None if file.header.seen & SEEN != 0 => seen(file.header.seen),
        _ if file.header.state == PROCESS_EXITED => State::Exited { status: None },
        _ if file.header.state == PROCESS_LEFT => State::Running,
        _ if executed => State::Executed,
        _ if file.now.is_some() => State::Running,
        _ => State::Unknown,
    }
}

/// The state that follows from the status which `wait` gave to the process's parent.
fn seen(status: u32) -> State {
    match (status & 0x7f, status >> 8 & 0xff) {
        (0, status) => State::Exited { status: Some(status as i32) },
        (signal, _) => State::Killed { signal: signal as i32 },
    }
}
