//! Semaphores that are used as locks: each thread posts as often as it waits.
//!
//! If a semaphore counts elements or free slots, one side waits for it and the other posts it.
//! Threads may also post a semaphore as often as they wait for it if it begins with a count above
//! 1, but such a semaphore limits how many threads use a resource. So only a semaphore that began
//! with 1 is a lock; if its initial value was not recorded, the rule does not apply. A thread may
//! take the semaphore on behalf of another thread, which gives it back. In h5py's lock, a holder
//! without waiters only marks the lock; the first thread that has to wait takes the semaphore
//! twice, once for the holder.

use syncline_recording::{Class, Primitive};

use super::{FLOOR, OFTEN, Side};
use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::FEWEST_TAKEN;
use crate::model::{Finding, Lock, Process, Remedy, Rule};

/// The differences between each thread's acquisitions and posts may add up to at most this share of
/// all acquisitions, in addition to one for each thread. An acquisition on behalf of another thread
/// counts twice: one thread lacks a post, and the other an acquisition.
const FOR_OTHERS: f64 = 0.3;

/// The findings about semaphores that threads use as locks, and wait for.
pub fn find(process: &Process) -> Vec<Finding> {
    let semaphores = process.locks.iter().enumerate().filter(|(_, lock)| {
        let figures = &lock.figures;
        lock.primitive == Primitive::Semaphore
            && lock.begins_with == Some(1)
            && figures.waits >= FEWEST_TAKEN
            && figures.waited >= FLOOR * process.thread_seconds
    });
    semaphores.filter_map(|(number, lock)| finding(process, number, lock)).collect()
}

fn finding(process: &Process, number: usize, semaphore: &Lock) -> Option<Finding> {
    let sides = [Class::Acquire, Class::Notify].map(|class| Side::of(semaphore.uses(class)));
    if !gives_back(&sides) {
        return None;
    }
    let [takes, gives] = sides;
    let figures = &semaphore.figures;
    let wait = semaphore.uses(Class::Acquire).max_by(|a, b| a.waited.total_cmp(&b.waited))?;
    let threads = takes.by_thread.keys().map(|&thread| &process.threads[thread]);
    let alive: f64 = threads.map(|thread| thread.seconds).sum();
    let given = &process.sites[*gives.sites.first()?].place;
    Some(Finding {
        rule: Rule::OwnLock,
        title: "Threads wait for a semaphore that each of them gives back: a lock".to_owned(),
        place: process.sites[wait.site].place.clone(),
        locks: vec![number],
        evidence: vec![
            share(
                "share of its threads' time spent waiting for it",
                figures.waited / alive.max(1e-9),
            ),
            rate("times taken", takes.by_thread.values().sum::<u64>() as f64 / process.seconds),
            count("waits", figures.waits),
            seconds("mean wait", figures.waited / figures.waits.max(1) as f64),
            count("threads that take it and give it back", takes.by_thread.len() as u64),
        ],
        advice: format!(
            "While one thread holds the semaphore, the others are kept out; it is posted at \
             {given}. Hold the semaphore for less work, take it less often, or use several."
        ),
        open_question: None,
        remedy: Remedy::Unknown,
        sites: takes.sites.into_iter().chain(gives.sites).collect(),
        gain: None,
    })
}

/// Whether at least two threads take it often, and each posts about as often as it takes.
fn gives_back([takes, gives]: &[Side; 2]) -> bool {
    let often = takes.by_thread.values().filter(|&&calls| calls >= OFTEN).count();
    let given = |thread: &usize| gives.by_thread.get(thread).copied().unwrap_or(0);
    let uneven = takes.by_thread.iter().map(|(thread, &taken)| taken.abs_diff(given(thread)));
    let only_give =
        gives.by_thread.iter().filter(|(thread, _)| !takes.by_thread.contains_key(thread));
    let uneven = uneven.sum::<u64>() + only_give.map(|(_, calls)| calls).sum::<u64>();
    let all: u64 = takes.by_thread.values().sum();
    often >= 2 && uneven as f64 <= takes.by_thread.len() as f64 + FOR_OTHERS * all as f64
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The number of findings if threads use a semaphore, and wait for `waited` seconds in all.
    /// `calls` has, for each thread, how often it waits for the semaphore and how often it posts
    /// it.
    fn found(calls: &[(u64, u64)], waited: f64) -> usize {
        with_places(1, calls, waited)
    }

    fn with_places(places: u64, calls: &[(u64, u64)], waited: f64) -> usize {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("plan", calls.len(), 10.0);
        let semaphore = drawn.lock(Primitive::Semaphore, "planner");
        drawn.locks[semaphore].begins_with = Some(places);
        let [waits, posts] = [|c: &(u64, u64)| c.0, |c: &(u64, u64)| c.1]
            .map(|of| (first..).zip(calls.iter().map(of)).collect::<Vec<_>>());
        for (op, place, by_thread, waited) in [
            (Op::SemWait, "lock_planner at threads.c:10", waits, waited),
            (Op::SemPost, "unlock_planner at threads.c:20", posts, 0.0),
        ] {
            let site = drawn.site(op, place);
            let calls = by_thread.iter().map(|&(_, calls)| calls).sum();
            let waits = if waited > 0.0 { calls / 2 } else { 0 };
            drawn.uses(semaphore, site, Use { calls, waits, waited, ..Use::default() });
            drawn.by_thread(site, by_thread);
        }
        find(&drawn).len()
    }

    #[test]
    fn a_semaphore_that_each_thread_waits_for_and_posts_is_a_lock() {
        assert_eq!(found(&[(600, 600), (400, 400)], 5.0), 1);
        assert_eq!(found(&[(600, 600), (400, 399)], 5.0), 1, "it ended with it");
        assert_eq!(found(&[(600, 600), (400, 400)], 1.0), 0, "3 % of the time");
        assert_eq!(with_places(4, &[(600, 600), (400, 400)], 5.0), 0, "four places");
    }

    #[test]
    fn a_semaphore_between_two_sides_is_no_lock() {
        assert_eq!(found(&[(0, 1000), (1000, 0)], 5.0), 0, "a queue");
        assert_eq!(found(&[(600, 400), (400, 600)], 5.0), 0);
        assert_eq!(found(&[(1000, 1000), (2, 2)], 5.0), 0, "hardly shared");
    }

    #[test]
    fn a_few_waits_may_be_posted_by_another_thread() {
        assert_eq!(found(&[(570, 430), (430, 570)], 5.0), 1);
        assert_eq!(found(&[(580, 420), (420, 580)], 5.0), 0);
    }
}
