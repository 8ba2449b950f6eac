//! A lock that is not given back: threads wait for it, no living thread was found to hold it, and
//! threads that had acquired it have ended. Most likely one of these returned without releasing it.
//!
//! The recorder does not note which locks a thread holds when it ends. But a thread that has to wait
//! looks for the holder among all living threads.

use std::collections::BTreeMap;

use syncline_present::number::counted;

use super::waits::{
    NAMED, VERY_LONG, is_for_good, living, place, shortest, text, thread_label, waiting,
};
use crate::model::{Kind, Lock, Process, Stuck, Trap};
use crate::name;

/// At most this many of a thread's call sites are named.
const SITES: usize = 4;

/// One finding for each such lock. There is none if the process ran already when its recording began,
/// since its locks may have been acquired before.
pub fn find(process: &Process) -> Vec<Stuck> {
    let mut waiters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for thread in living(process).filter(|_| !process.attached) {
        let Some(now) = waiting(&process.threads[thread]) else { continue };
        let is_lock = Kind::of(now.op.primitive()) == Kind::Lock && is_for_good(now);
        if let Some(lock) = now.lock
            && is_lock
            && now.holder.is_none()
            && now.seconds >= VERY_LONG
        {
            waiters.entry(lock).or_default().push(thread);
        }
    }
    let stuck = waiters.into_iter().filter_map(|(lock, threads)| {
        let lock = &process.locks[lock];
        let ended = ended(process, lock);
        (!ended.is_empty()).then(|| stuck(process, lock, threads, &ended))
    });
    stuck.collect()
}

/// The threads that have acquired a lock and have ended.
fn ended(process: &Process, lock: &Lock) -> Vec<usize> {
    let acquirers = lock.threads.iter().filter(|&&(_, calls)| calls > 0);
    acquirers.map(|&(thread, _)| thread).filter(|&thread| process.threads[thread].ended).collect()
}

fn stuck(process: &Process, lock: &Lock, threads: Vec<usize>, ended: &[usize]) -> Stuck {
    let line = |&thread: &usize| {
        let now = process.threads[thread].waiting_now.as_ref().expect("it waits");
        let (who, at) = (thread_label(process, thread), place(process, now));
        format!("{who} waits at {at} for {}, which no living thread holds", name::lock(lock))
    };
    let mut lines: Vec<String> = threads.iter().take(NAMED).map(line).collect();
    if threads.len() > NAMED {
        lines.push(format!("so do {}", counted(threads.len() - NAMED, "more thread")));
    }
    lines.extend(ended.iter().take(NAMED).map(|&thread| {
        let sites = acquired_at(process, lock, thread);
        format!("{} has acquired it at {sites}, and has ended", thread_label(process, thread))
    }));
    lines.push("release the lock on every path out of its section".to_owned());
    let seconds = shortest(process, &threads);
    Stuck { trap: Trap::AbandonedLock, seconds, why: text(&lines), threads }
}

/// The call sites at which a thread has acquired a lock, as text.
fn acquired_at(process: &Process, lock: &Lock, thread: usize) -> String {
    let has = |by: &[(usize, u64)]| by.iter().any(|&(by, calls)| by == thread && calls > 0);
    let here = lock.sites.iter().filter(|used| has(&used.by_thread));
    let all: Vec<String> =
        here.map(|used| name::site(process, &process.sites[used.site])).collect();
    match all.len().saturating_sub(SITES) {
        0 => all.join(", "),
        more => format!("{} and {}", all[..SITES].join(", "), counted(more, "other call site")),
    }
}
