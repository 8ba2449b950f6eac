use syncline_recording::{Op, Primitive};

use super::*;
use crate::findings::testing::{Drawn, Use, finding, process};
use crate::model::Rule;

/// Four threads that wait for a lock for `waited` of 50 thread-seconds. Also returns the call site
/// of the waits.
fn waits(waited: f64) -> (Drawn, usize) {
    let mut drawn = process(10.0, 4);
    drawn.threads("worker", 4, 10.0);
    let lock = drawn.lock(Primitive::Mutex, "cache_lock");
    let quiet = drawn.site(Op::MutexLock, "get at cache.c:10");
    let site = drawn.site(Op::MutexLock, "put at cache.c:20");
    drawn.uses(lock, quiet, Use { calls: 1_000_000, ..Use::default() });
    drawn.uses(lock, site, Use { calls: 1_000, waits: 100, waited, ..Use::default() });
    drawn.blocked(lock, site, quiet, 100, waited);
    (drawn, site)
}

#[test]
fn a_lock_with_much_waiting_gets_a_sentence_unless_a_finding_has_one() {
    let (drawn, site) = waits(1.1);
    let found = find(&drawn, &[]);
    assert_eq!(found.len(), 1);
    let only = &found[0];
    assert_eq!((&only.what[..], &only.place[..]), ("mutex cache_lock", "put at cache.c:20"));
    assert!((only.share - 0.022).abs() < 1e-9);
    assert!(only.why.contains("100 waits of 11.0 ms"), "{}", only.why);
    let blamed = "100 % of this time while it was held from get  cache.c:10";
    assert!(only.why.contains(blamed), "{}", only.why);
    assert!(find(&drawn, &[finding(Rule::TooMuchData, &[site])]).is_empty());
    let cheaper = [finding(Rule::SpinlockInstead, &[site])];
    assert_eq!(find(&drawn, &cheaper).len(), 1, "it says nothing of waiting");
    assert!(find(&waits(0.9).0, &[]).is_empty(), "1.8 %");
}

#[test]
fn uncontended_calls_count_as_time() {
    let taken = |times: u64| {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let lock = drawn.lock(Primitive::Rwlock, "names");
        let site = drawn.site(Op::RwlockRead, "look up at names.c:10");
        drawn.uses(lock, site, Use { calls: times, ..Use::default() });
        drawn
    };
    let found = find(&taken(150_000_000), &[]);
    assert_eq!((&found[0].what[..], found[0].idle), ("rwlock names", false));
    assert!((found[0].share - 0.06).abs() < 1e-9, "3 of 50 seconds");
    assert!(found[0].why.contains("15,000,000 times a second"), "{}", found[0].why);
    assert!(found[0].why.contains("100 % of acquisitions only read"), "{}", found[0].why);
    assert!(find(&taken(100_000_000), &[]).is_empty(), "4 %");
    let cheaper = [finding(Rule::SpinlockInstead, &[0])];
    assert!(find(&taken(150_000_000), &cheaper).is_empty(), "it speaks of the calls");
}

#[test]
fn sleeps_in_a_loop_are_described_as_late() {
    let slept = |waits: u64, waited: f64| {
        let mut drawn = process(10.0, 4);
        drawn.threads("worker", 4, 10.0);
        let time = drawn.lock(Primitive::Sleep, "sleep");
        let site = drawn.site(Op::Sleep, "look at poll.c:10");
        drawn.uses(time, site, Use { calls: waits, waits, waited, ..Use::default() });
        let found = find(&drawn, &[]);
        (found[0].what.clone(), found[0].why.clone())
    };
    let (what, why) = slept(1_000, 2.0);
    assert_eq!(what, "sleep");
    assert!(why.contains("1,000 sleeps of 2.00 ms"), "{why}");
    assert!(why.contains("half a sleep too late"), "{why}");
    assert!(!slept(50, 2.0).1.contains("late"), "seldom");
    assert!(!slept(200, 10.0).1.contains("late"), "50 ms each: a clock");
}

#[test]
fn waits_on_the_critical_path_come_before_idle_ones() {
    let mut drawn = process(10.0, 4);
    let worker = drawn.threads("worker", 2, 10.0);
    for (name, waited) in [("idle", 4.0), ("busy", 3.0)] {
        let condition = drawn.lock(Primitive::Condvar, name);
        let site = drawn.site(Op::CondWait, &format!("{name} at queue.c:10"));
        let used = Use { calls: 50, waits: 50, waited, ..Use::default() };
        drawn.uses(condition, site, used);
        drawn.by_thread(site, vec![(worker, 50)]);
    }
    let found = |drawn: &Drawn| {
        let found = find(drawn, &[]);
        let parts = found.iter().map(|one| (one.what.clone(), one.idle));
        parts.collect::<Vec<_>>()
    };
    let unknown = [("condvar idle".to_owned(), false), ("condvar busy".to_owned(), false)];
    assert_eq!(found(&drawn), unknown);
    drawn.critical_path.seconds = 10.0;
    drawn.critical_path.through = [(0, 0.19), (1, 0.2)].into();
    let known = [("condvar busy".to_owned(), false), ("condvar idle".to_owned(), true)];
    assert_eq!(found(&drawn), known);
}

#[test]
fn refused_tries_count_as_time() {
    let (mut drawn, site) = waits(0.6);
    drawn.uses(0, site, Use { refused: 1_000, spun: 0.6, ..Use::default() });
    let found = find(&drawn, &[]);
    assert!(found[0].why.contains("600 ms went into refused tries"), "{}", found[0].why);
}

#[test]
fn waits_for_pythons_interpreter_lock_say_what_it_is() {
    let mut drawn = process(10.0, 4);
    let worker = drawn.threads("worker", 2, 10.0);
    let condition = drawn.lock(Primitive::Condvar, crate::name::INTERPRETER_LOCK);
    let site = drawn.site(Op::CondTimedwait, "spin at gil.py:5");
    let used = Use { calls: 900, waits: 900, waited: 9.0, ..Use::default() };
    drawn.uses(condition, site, used);
    drawn.by_thread(site, vec![(worker, 900)]);
    let found = find(&drawn, &[]).remove(0);
    assert_eq!(found.what, "condvar of Python's interpreter lock (GIL)");
    assert!(found.why.contains("several processes"), "{}", found.why);
}

#[test]
fn an_event_wait_is_idle_or_held_up() {
    let waiting = |seconds: f64| {
        let mut drawn = process(10.0, 4);
        let worker = drawn.threads("worker", 1, 10.0);
        let condition = drawn.lock(Primitive::Condvar, "not_empty");
        let site = drawn.site(Op::CondWait, "take at queue.c:10");
        let used = Use { calls: 50, waits: 50, waited: seconds, ..Use::default() };
        drawn.uses(condition, site, used);
        drawn.by_thread(site, vec![(worker, 50)]);
        drawn.waited(worker, Primitive::Condvar, seconds);
        let waker = drawn.site(Op::CondSignal, "put at queue.c:30");
        drawn.uses(condition, waker, Use { calls: 50, ..Use::default() });
        find(&drawn, &[]).remove(0)
    };
    let idle = waiting(9.5);
    assert!(idle.idle && idle.why.contains("nothing to do"), "{}", idle.why);
    assert!(idle.why.contains("woken from put  queue.c:30"), "{}", idle.why);
    let held_up = waiting(5.0);
    assert!(!held_up.idle && held_up.why.contains("delay the run"), "{}", held_up.why);
}

#[test]
fn threads_that_wake_each_others_conditions_may_share_a_lock() {
    let drawn = |wakers: usize, conditions: usize| {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("interpret", 3, 10.0);
        let wait = drawn.site(Op::CondWait, "park at monitor.c:10");
        let wake = drawn.site(Op::CondSignal, "exit at monitor.c:30");
        for number in 0..conditions {
            let condition = drawn.lock(Primitive::Condvar, &format!("condition {number}"));
            let waits = Use { calls: 500, waits: 500, waited: 2.0, ..Use::default() };
            drawn.uses(condition, wait, waits);
            drawn.uses(condition, wake, Use { calls: 500, ..Use::default() });
        }
        drawn.by_thread(wait, (first..first + 3).map(|thread| (thread, 500)));
        drawn.by_thread(wake, (first..first + wakers).map(|thread| (thread, 500)));
        drawn
    };
    let why =
        |wakers: usize, conditions: usize| find(&drawn(wakers, conditions), &[]).remove(0).why;
    let mut sleepy = drawn(3, 3);
    for thread in &mut sleepy.threads {
        (thread.cpu, thread.ready) = (Some(0.1), Some(0.0));
        thread.waiting.events = 9.9;
    }
    assert!(!find(&sleepy, &[])[0].idle, "they hold each other up");
    assert!(why(3, 3).contains("wake each other"), "{}", why(3, 3));
    assert!(!why(2, 3).contains("wake each other"), "one is only woken");
    assert!(!why(3, 2).contains("wake each other"), "they share conditions");
}
