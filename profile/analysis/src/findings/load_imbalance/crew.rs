//! Threads with the same start function that lived at the same time, and their work.
//!
//! A library for thread pools has one start function and one line that creates threads, but each
//! pool's threads do something else. Threads are of one pool if they were created by the same
//! calls, all the way from the outermost, or use a lock, or another object that threads wait for,
//! which no other thread but the process's first uses. Threads that both sleep use no such object.
//!
//! A thread's work is its processor time. If threads had a processor for less than half of the time
//! that they waited neither for recorded objects nor for a processor, they sleep or wait for
//! devices. Then a thread's work is the time that it did not wait.

use std::collections::BTreeMap;

use syncline_recording::Primitive;

use crate::findings::family::Sets;
use crate::model::{Group, Process, Thread};

/// The run must take at least this many times as long as necessary: SyncPerf's 20 %.
pub const TIMES: f64 = 1.2;
/// The least share of the run time to be gained.
pub const FLOOR: f64 = 0.05;

/// The least share of the time worked that must be processor time if processor time is to measure
/// the work.
const ON_CPU: f64 = 0.5;

/// A thread with less work than this, in seconds, did nothing but begin and end.
const HARDLY_RAN: f64 = 1e-3;
/// The least share of the time for which a pool lives that an idle thread waits; and of the
/// threads' work that the first thread takes part in.
const NEARLY_ALL: f64 = 0.9;

/// Threads of one start function and one pool that lived at the same time, two at least.
pub struct Crew {
    /// The start function.
    pub start_function: String,
    /// Indices of the threads.
    pub threads: Vec<usize>,
    /// Work of each of them, in seconds.
    pub work: Vec<f64>,
    /// Whether work is the time that the threads did not wait, because the processor time of some
    /// is unknown (threads that never end) or too little. Then work includes sleep, and also time
    /// without a processor if the kernel doesn't report that time.
    pub inexact: bool,
    /// The first thread's work, if that is one of the threads and its part is known.
    pub first: Option<f64>,
    /// Seconds that each of them did not wait.
    pub active: Vec<f64>,
    /// Seconds from the start of the first to the end of the last.
    pub lived: f64,
    /// When the last one ended, as [`Thread::started`].
    pub ended: f64,
}

impl Crew {
    /// Work of all its threads, in seconds.
    pub fn sum(&self) -> f64 {
        self.work.iter().sum()
    }

    /// Seconds that its threads are known to have spent on their work: processor time, and sleeps
    /// of given lengths. If a thread's processor time is unknown, all of its work.
    pub fn seen_at_work(&self, process: &Process) -> f64 {
        let seen = |(&thread, &work): (&usize, &f64)| {
            let thread = &process.threads[thread];
            thread.cpu.map_or(work, |cpu| cpu + thread.slept())
        };
        self.threads.iter().zip(&self.work).map(seen).sum()
    }

    /// Work of the busiest thread, in seconds.
    pub fn busiest(&self) -> f64 {
        self.work.iter().copied().fold(0.0, f64::max)
    }

    /// Whether most of its threads did nothing but wait for work, for as long as the pool lived. A
    /// thread that waits at a barrier, or ends while others still work, does not count: it may have
    /// had too small a share.
    pub fn is_mostly_idle(&self, process: &Process) -> bool {
        let told = [Primitive::Condvar, Primitive::Semaphore, Primitive::Futex];
        let idle = |&(&thread, work): &(&usize, &f64)| {
            let thread = &process.threads[thread];
            let waited: f64 = told.iter().filter_map(|kind| thread.waited_for.get(kind)).sum();
            *work < HARDLY_RAN && waited >= NEARLY_ALL * (self.ended - thread.started)
        };
        2 * self.threads.iter().zip(&self.work).filter(idle).count() > self.threads.len()
    }

    /// The share of time for which its threads did not wait. The time from a thread's end to the
    /// end of the last counts as waiting.
    pub fn active_share(&self) -> f64 {
        self.active.iter().sum::<f64>() / (self.lived * self.threads.len() as f64).max(1e-12)
    }

    /// The group as a remedy describes it, with the proposed number of threads.
    pub fn group(&self, proposed: usize) -> Group {
        Group {
            start_function: self.start_function.clone(),
            threads: self.threads.len(),
            proposed,
            work: self.sum(),
            busiest: self.busiest(),
        }
    }
}

/// All groups of threads. Left out are groups whose threads come in several batches, one after the
/// other, and groups with a record that stands for several threads.
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
        let active = |&t: &usize| match first {
            Some(part) if t == 0 => thread(0).active() * part / thread(0).ran().max(1e-12),
            _ => thread(t).active(),
        };
        let active: Vec<f64> = threads.iter().map(active).collect();
        // A group whose own processor times are known can be measured by them even if others are
        // unknown, such as those of servers that never end.
        let known = known(threads);
        let by_cpu = all_by_cpu || known && by_cpu(threads);
        let work = |&t: &usize| match thread(t).cpu {
            Some(cpu) if by_cpu => first.filter(|_| t == 0).unwrap_or(cpu),
            _ => thread(t).worked(),
        };
        crews.push(Crew {
            start_function: (*function).to_owned(),
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

/// Threads with the same start function that were created at the same call site, divided into
/// pools. The first thread has no start function; it belongs to OpenMP's threads if it meets them
/// at their barrier.
fn pools(process: &Process) -> Vec<(&str, Vec<usize>)> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (number, thread) in process.threads.iter().enumerate() {
        let Some(function) = &thread.start_function else { continue };
        let created = thread.created_at.and_then(|stack| process.stacks.get(stack)?.place);
        groups.entry((function.as_str(), created)).or_default().push(number);
    }
    let groups = groups.into_iter().flat_map(|((function, _), threads)| {
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

/// Whether the first thread takes part in what these threads do nearly all of the time.
fn shares_with_first(process: &Process, threads: &[usize]) -> bool {
    let ran = |&t: &usize| process.threads[t].ran();
    let all: f64 = threads.iter().map(ran).sum();
    let shared = threads.iter().filter(|&&t| process.threads[t].first.is_some());
    all > 0.0 && shared.map(ran).sum::<f64>() >= NEARLY_ALL * all
}

/// The processor time that the first thread spent in the work of these threads, if it is one of
/// them, and if that time is known. Otherwise its work includes what it did alone.
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
    for object in process.locks.iter().filter(|object| !object.primitive.is_one_for_all()) {
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
