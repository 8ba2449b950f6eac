//! Finds a cycle of threads that wait for each other.
//!
//! A thread that waits to hold a lock alone needs all holders to release it; a reader needs the
//! writer to release it. A thread waits until every one of these holders has released the lock, so
//! one cycle shows a deadlock: the threads of the cycle wait forever.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::panic::Location;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::MutexGuard;
use std::thread::Thread;

use super::lock::{Named, Owner};
use super::mode::Mode;
use super::notes::{self, Note, Notes, Wait};
use super::number::this_thread;

/// Threads that wait for each other, each for the next and the last for the first.
pub(super) struct Cycle(Vec<Step>);

/// A thread that waits for a lock, which another thread holds.
struct Step {
    waiter: String,
    wait: &'static Location<'static>,
    lock: Named,
    holder: String,
    mode: Mode,
    hold: &'static Location<'static>,
}

/// A thread that holds a lock: its number, how it holds the lock, and the line where it acquired
/// the lock.
type Holder = (usize, Mode, &'static Location<'static>);

/// The cycle that this thread's noted wait has closed, if any. In that case the note of the wait is
/// removed before other threads look, so that only one thread of a cycle reports it.
pub(super) fn find_cycle() -> Option<Cycle> {
    let notes = notes::all();
    let mut search = Search {
        notes: &notes,
        locked: BTreeMap::new(),
        visited: BTreeSet::new(),
        path: Vec::new(),
    };
    let me = this_thread();
    if !search.leads_back(me) {
        return None;
    }
    let cycle = search.cycle();
    if let Some(note) = search.locked.get_mut(&me) {
        note.wait = None;
    }
    Some(cycle)
}

/// A depth-first search from a thread, which goes from each waiter to the threads that it waits
/// for.
struct Search<'a> {
    notes: &'a Notes,
    /// The notes that were read. They stay locked to the end, so that all of them are true at the
    /// same time.
    locked: BTreeMap<usize, MutexGuard<'a, Note>>,
    visited: BTreeSet<usize>,
    /// The waiters up to the current one, each with the holder that it waits for.
    path: Vec<(usize, Holder)>,
}

impl<'a> Search<'a> {
    /// Whether the search from this thread comes to the first thread of the path. If the path is
    /// empty, this thread is the first one.
    fn leads_back(&mut self, waiter: usize) -> bool {
        self.visited.insert(waiter);
        for holder in self.holders(waiter) {
            self.path.push((waiter, holder));
            if holder.0 == self.path[0].0 {
                return true;
            }
            if !self.visited.contains(&holder.0) && self.leads_back(holder.0) {
                return true;
            }
            self.path.pop();
        }
        false
    }

    /// The threads that must release the lock that this thread waits for, if it waits.
    fn holders(&mut self, waiter: usize) -> Vec<Holder> {
        let Some(Wait { owner, mode: wish, .. }) = self.note(waiter).and_then(|n| n.wait.as_ref())
        else {
            return Vec::new();
        };
        let wish = *wish;
        // SAFETY: we have locked the thread's note, so the thread waits as the note says; and a
        // lock exists as long as a thread waits for it.
        let owner: &Owner = unsafe { &*owner.load(Relaxed) };
        let lock = owner.name();
        let candidates = if owner.is_shared() && wish != Mode::Shared {
            self.notes.keys().copied().collect()
        } else {
            Vec::from([owner.thread()])
        };
        let mut holders = Vec::new();
        for thread in candidates {
            let Some(note) = self.note(thread) else { continue };
            let held = note.holds.iter().find(|hold| hold.lock == lock && blocks(hold.mode, wish));
            holders.extend(held.map(|hold| (thread, hold.mode, hold.since)));
        }
        holders
    }

    /// A thread's note, locked; `None` if the thread has ended, or has never acquired a lock or
    /// waited for one.
    fn note(&mut self, thread: usize) -> Option<&Note> {
        let note: &'a Arc<_> = self.notes.get(&thread)?;
        Some(self.locked.entry(thread).or_insert_with(|| notes::lock(note)))
    }

    /// The path as a cycle.
    fn cycle(&self) -> Cycle {
        let step = |&(waiter, (holder, mode, hold)): &(usize, Holder)| {
            let (waiter, holder) = (&self.locked[&waiter], &self.locked[&holder]);
            let wait = waiter.wait.as_ref()?;
            Some(Step {
                waiter: name(&waiter.thread),
                wait: wait.since,
                lock: wait.lock,
                holder: name(&holder.thread),
                mode,
                hold,
            })
        };
        Cycle(self.path.iter().filter_map(step).collect())
    }
}

/// Whether a thread that holds a lock in the mode `held` keeps a thread, perhaps itself, from
/// acquiring it in the mode `wish`. An upgradable reader that becomes the writer does not wait for
/// its own share, and there is no second upgradable reader.
fn blocks(held: Mode, wish: Mode) -> bool {
    match held {
        Mode::Alone | Mode::Upgraded => true,
        Mode::Shared => matches!(wish, Mode::Alone | Mode::Upgraded),
        Mode::Upgradable => matches!(wish, Mode::Alone | Mode::Upgradable),
    }
}

/// A thread as messages name it.
fn name(thread: &Thread) -> String {
    let id = thread.id();
    thread.name().map_or_else(|| alloc::format!("{id:?}"), |name| alloc::format!("{id:?} ({name})"))
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [step] = &self.0[..] {
            let held = how(step.mode);
            let (lock, hold) = (step.lock, step.hold);
            return write!(
                f,
                "deadlock: this thread {held} {lock} already, since {hold}, and would wait for \
                 itself forever"
            );
        }
        write!(f, "deadlock: {} threads would wait for each other forever:", self.0.len())?;
        for Step { waiter, wait, lock, holder, mode, hold } in &self.0 {
            let held = how(*mode);
            write!(
                f,
                "\n  {waiter} waits at {wait} for {lock}, which {holder} {held} since {hold}"
            )?;
        }
        Ok(())
    }
}

/// The verb for the way in which a holder has the lock.
fn how(mode: Mode) -> &'static str {
    match mode {
        Mode::Alone | Mode::Upgraded => "holds",
        Mode::Shared => "shares",
        Mode::Upgradable => "shares upgradably",
    }
}
