//! Threads with the same start function that lived at the same time, and their work.
//!
//! A library for thread pools has one start function and one line that creates threads, but the
//! threads of different pools do different work. Threads are of one pool if they were created by
//! the same calls, all the way from the outermost. They are also of one pool if they share a lock,
//! or another object that threads wait for, which no other thread but the process's first uses.
//! Sleeping and yielding are not such objects. Threads with different names, apart from a number at
//! the end, do different work: an interpreter creates all threads in one place.
//!
//! A thread's work is its processor time without polling, if the threads had a processor for at
//! least half of the time in which they waited neither for recorded objects nor for a processor. If
//! they had one for less, they sleep or wait for devices; then a thread's work is the time that it
//! did not wait.

use std::collections::BTreeMap;

use syncline_recording::Primitive;

use crate::findings::family::Sets;
use crate::model::{Group, Process, Thread};
use crate::name;

/// The busiest threads must have at least this many times the work that they would have if the work
/// were divided evenly: SyncPerf's 20 %.
pub const TIMES: f64 = 1.2;
/// An even division must save at least this share of the run time.
pub const FLOOR: f64 = 0.05;

/// Processor time measures the work only if it is at least this share of the time worked.
const ON_CPU: f64 = 0.5;

/// A thread with less work than this, in seconds, only began and ended.
const HARDLY_RAN: f64 = 1e-3;
/// An idle thread waits for at least this share of the time from its start to its pool's end. The
/// first thread belongs to a pool if it takes part in this share of the pool's work.
const NEARLY_ALL: f64 = 0.9;

/// At least two threads of one start function and one pool that lived at the same time.
pub struct Crew {
    /// The start function.
    pub start_function: String,
    /// Where the threads come from, as text that follows the word "threads".
    pub origin: String,
    /// Indices of the threads.
    pub threads: Vec<usize>,
    /// The work of each thread, in seconds.
    pub work: Vec<f64>,
    /// Whether work is the time that the threads did not wait, because the processor time of some
    /// is unknown (threads that never end) or too little. Then work includes sleep, and also time
    /// without a processor if the kernel doesn't report that time.
    pub inexact: bool,
    /// The work of the process's first thread for this pool; `None` if it does not belong to the
    /// pool, or if that work is unknown.
    pub first: Option<f64>,
    /// The seconds for which each thread neither waited nor polled.
    pub active: Vec<f64>,
    /// Seconds from the start of the first of the threads to the end of the last.
    pub lived: f64,
    /// When the last of the threads ended, in seconds since the recording began, as
    /// [`Thread::started`].
    pub ended: f64,
}

impl Crew {
    /// The work of all the crew's threads, in seconds.
    pub fn sum(&self) -> f64 {
        self.work.iter().sum()
    }

    /// Seconds that the crew's threads are known to have spent on their work: processor time, and
    /// sleeps of given lengths. Of a thread whose processor time is unknown, all work counts.
    pub fn seen_at_work(&self, process: &Process) -> f64 {
        let seen = |(&thread, &work): (&usize, &f64)| {
            let thread = &process.threads[thread];
            thread.cpu.map_or(work, |cpu| cpu + thread.slept())
        };
        self.threads.iter().zip(&self.work).map(seen).sum()
    }

    /// The work of the busiest thread, in seconds.
    pub fn busiest(&self) -> f64 {
        self.work.iter().copied().fold(0.0, f64::max)
    }

    /// Whether most of the crew's threads only waited for work, for as long as the pool lived. A
    /// thread that waits at a barrier, or ends while others still work, does not count as idle: it
    /// may have had too small a share.
    pub fn is_mostly_idle(&self, process: &Process) -> bool {
        let told = [Primitive::Condvar, Primitive::Semaphore, Primitive::Futex];
        let idle = |&(&thread, work): &(&usize, &f64)| {
            let thread = &process.threads[thread];
            let waited: f64 = told.iter().filter_map(|kind| thread.waited_for.get(kind)).sum();
            *work < HARDLY_RAN && waited >= NEARLY_ALL * (self.ended - thread.started)
        };
        2 * self.threads.iter().zip(&self.work).filter(idle).count() > self.threads.len()
    }

    /// The share of time for which the crew's threads did not wait. The time from a thread's end to
    /// the end of the last counts as waiting.
    pub fn active_share(&self) -> f64 {
        self.active.iter().sum::<f64>() / (self.lived * self.threads.len() as f64).max(1e-12)
    }

    /// The crew as a group of a remedy, with the proposed number of threads.
    pub fn group(&self, proposed: usize) -> Group {
        Group {
            start_function: self.start_function.clone(),
            origin: self.origin.clone(),
            threads: self.threads.len(),
            proposed,
            work: self.sum(),
            busiest: self.busiest(),
        }
    }
}

/// All crews of a process. A group of threads is left out if its threads come in several batches,
/// one after the other, or if one of its records stands for several threads.
pub fn crews(process: &Process) -> Vec<Crew> {
    let groups = pools(process);
    let thread = |place: usize| &process.threads[place];
    let known = |threads: &[usize]| threads.iter().all(|&t| thread(t).cpu.is_some());
    let by_cpu = |threads: &[usize]| {
        let threads = || threads.iter().map(|&t| thread(t));
        let on_cpu: f64 = threads().filter_map(|thread| thread.cpu).sum();
        on_cpu >= ON_CPU * threads().map(Thread::worked).sum::<f64>()
    };
    let all: Vec<usize> = groups.iter().flat_map(|(_, threads)| threads).copied().collect();
    let all_by_cpu = known(&all) && by_cpu(&all);
    let mut crews = Vec::new();
    for (function, threads) in &groups {
        let ends = threads.iter().map(|&t| thread(t).started + thread(t).seconds);
        let (first_end, last_end) = ends
            .fold((f64::INFINITY, 0.0f64), |(first, last), end| (first.min(end), last.max(end)));
        let starts = || threads.iter().map(|&t| thread(t).started);
        let together = starts().all(|start| start < first_end);
        let single = threads.iter().all(|&t| thread(t).lifetimes == 1);
        if threads.len() < 2 || !together || !single {
            continue;
        }
        let first = first_part(process, threads);
        let without_polls = |t: usize, seconds: f64| (seconds - thread(t).spun).max(0.0);
        let active = |&t: &usize| without_polls(t, thread(t).active());
        let active = |t: &usize| match first {
            Some(part) if *t == 0 => {
                active(t) * part / without_polls(0, thread(0).ran()).max(1e-12)
            }
            _ => active(t),
        };
        let active: Vec<f64> = threads.iter().map(active).collect();
        // A group whose own processor times are known can be measured by these even if those of
        // other threads are unknown, such as those of servers that never end.
        let known = known(threads);
        let by_cpu = all_by_cpu || known && by_cpu(threads);
        let work = |&t: &usize| match thread(t).cpu {
            Some(cpu) if by_cpu => {
                first.filter(|_| t == 0).unwrap_or_else(|| without_polls(t, cpu))
            }
            _ => thread(t).worked(),
        };
        crews.push(Crew {
            start_function: (*function).to_owned(),
            // The first thread, which may take part, has no origin.
            origin: name::origin(process, thread(*threads.last().expect("two threads")))
                .expect("a thread that others created")
                .to_string(),
            first,
            work: threads.iter().map(work).collect(),
            inexact: !by_cpu,
            active,
            lived: last_end - starts().fold(f64::INFINITY, f64::min),
            ended: last_end,
            threads: threads.clone(),
        });
    }
    crews
}

/// Threads with the same start function and name that were created at the same call site, divided
/// into pools. The process's first thread has no start function. It is added to OpenMP's threads if it
/// meets them at their barrier, and to threads whose work it shares.
fn pools(process: &Process) -> Vec<(&str, Vec<usize>)> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (number, thread) in process.threads.iter().enumerate() {
        let Some(function) = &thread.start_function else { continue };
        let created = thread.created_at.and_then(|stack| process.stacks.get(stack)?.place);
        let kind = (function.as_str(), created, name::unnumbered(&thread.name));
        groups.entry(kind).or_default().push(number);
    }
    let groups = groups.into_iter().flat_map(|((function, ..), threads)| {
        split(process, &threads).into_iter().map(move |pool| (function, pool))
    });
    let with_first = |(function, mut threads): (_, Vec<usize>)| {
        if meets_first_at_open_mp(process, &threads) || shares_with_first(process, &threads) {
            threads.insert(0, 0);
        }
        (function, threads)
    };
    groups.map(with_first).collect()
}

/// Whether the first thread takes part in nearly all of the work of these threads.
fn shares_with_first(process: &Process, threads: &[usize]) -> bool {
    let ran = |&t: &usize| process.threads[t].ran();
    let all: f64 = threads.iter().map(ran).sum();
    let shared = threads.iter().filter(|&&t| process.threads[t].first.is_some());
    all > 0.0 && shared.map(ran).sum::<f64>() >= NEARLY_ALL * all
}

/// The processor time that the first thread spent on the work of these threads. `None` if the first
/// thread is not one of them. Also `None` if that time is unknown; then the first thread's work
/// includes what it did alone.
fn first_part(process: &Process, threads: &[usize]) -> Option<f64> {
    let parts = threads.iter().filter_map(|&t| process.threads[t].first.as_ref());
    let part = parts.map(|part| part.seconds).reduce(f64::max)?;
    threads.contains(&0).then_some(part)
}

/// Whether the first thread and all of these threads meet at a barrier of OpenMP.
fn meets_first_at_open_mp(process: &Process, threads: &[usize]) -> bool {
    let mut barriers = process.locks.iter().filter(|lock| lock.primitive == Primitive::OmpBarrier);
    let is_first = process.threads[0].start_function.is_none();
    is_first
        && barriers.any(|barrier| {
            let comes = |number: usize| barrier.threads.iter().any(|&(thread, _)| thread == number);
            threads.iter().chain([&0]).all(|&thread| comes(thread))
        })
}

/// Divides these threads into pools.
fn split(process: &Process, threads: &[usize]) -> Vec<Vec<usize>> {
    let mut pools = Sets::new(threads.len());
    let creator = |number: usize| {
        process.threads[threads[number]].created_at.map(|stack| process.calls_of(stack))
    };
    let mut first: BTreeMap<_, usize> = BTreeMap::new();
    for number in 0..threads.len() {
        pools.unite(number, *first.entry(creator(number)).or_insert(number));
    }
    for object in process.locks.iter().filter(|object| !object.primitive.has_one_object_for_all()) {
        let (mut users, mut others) = (Vec::new(), false);
        for (user, _) in &object.threads {
            match threads.binary_search(user) {
                Ok(number) => users.push(number),
                // The first thread hands out the work of all pools, so its use of an object does
                // not count. An object that threads of other pools use belongs to none.
                Err(_) => others |= process.threads[*user].start_function.is_some(),
            }
        }
        if !others {
            users.windows(2).for_each(|pair| pools.unite(pair[0], pair[1]));
        }
    }
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, &thread) in threads.iter().enumerate() {
        all.entry(pools.root(number)).or_default().push(thread);
    }
    all.into_values().collect()
}
