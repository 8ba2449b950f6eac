//! Tests of which locks form a family, and what they cost.

use syncline_recording::{Op, Primitive};

use super::*;
use crate::findings::testing::{Use, process};

#[test]
fn locks_that_share_a_call_site_are_one_family() {
    let mut drawn = process(10.0, 4);
    let [a, b, c] = ["a", "b", "c"].map(|name| drawn.lock(Primitive::Mutex, name));
    let [put, get, other] = ["put", "get", "other"].map(|p| drawn.site(Op::MutexLock, p));
    for (lock, site, calls) in [(a, put, 5), (a, get, 10), (b, get, 10), (c, other, 1)] {
        drawn.uses(lock, site, Use { calls, ..Use::default() });
    }
    let families = Family::all(&drawn);
    let of = |family: &Family| (family.locks.clone(), family.sites.clone(), family.calls());
    assert_eq!(of(&families[0]), (vec![a, b], vec![get, put], 25));
    assert_eq!(of(&families[1]), (vec![c], vec![other], 1));
    assert_eq!(families.len(), 2);
}

#[test]
fn few_locks_of_many_threads_are_expensive() {
    let mut drawn = process(10.0, 4);
    drawn.threads("worker", 4, 10.0);
    let locks = drawn.locks_created(Primitive::Mutex, 100, "init at grid.c:1");
    let shared = drawn.lock(Primitive::Mutex, "shared");
    let [many, one] = ["many", "one"].map(|place| drawn.site(Op::MutexLock, place));
    for lock in locks {
        drawn.uses(lock, many, Use { calls: 1000, ..Use::default() });
    }
    drawn.uses(shared, one, Use { calls: 100_000, ..Use::default() });
    let families = Family::all(&drawn);
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-9;
    assert!(near(families[0].cost(), 10_000.0 * PAIR), "{}", families[0].cost());
    assert!(near(families[1].cost(), 10_000.0 * SHARED_PAIR), "{}", families[1].cost());
}

#[test]
fn a_lock_of_one_thread_is_cheap_and_never_contended() {
    let mut drawn = process(10.0, 4);
    drawn.threads("worker", 3, 10.0);
    let lock = drawn.lock(Primitive::Mutex, "own");
    let site = drawn.site(Op::MutexLock, "visit");
    drawn.uses(lock, site, Use { calls: 1_000_000, held: 12.0, ..Use::default() });
    drawn.sites[site].threads = 1;
    let mut shared = |threads: &[(usize, u64)]| {
        drawn.locks[lock].threads = threads.to_vec();
        (Family::all(&drawn)[0].likely_pair(), wanted_at_once(&drawn, &drawn.locks[lock]))
    };
    let (pair, at_once) = shared(&[(1, 990_000), (2, 10_000)]);
    assert!(pair < PAIR && at_once < 0.62, "{pair} {at_once}");
    let (pair, at_once) = shared(&[(1, 500_000), (2, 500_000)]);
    assert!(pair == PAIR && at_once > 1.19, "{pair} {at_once}");
}

#[test]
fn readers_are_never_in_each_others_way() {
    let mut drawn = process(10.0, 4);
    drawn.threads("reader", 4, 10.0);
    let lock = drawn.lock(Primitive::Rwlock, "table");
    let site = drawn.site(Op::RwlockRead, "look");
    drawn.uses(lock, site, Use { calls: 1_000_000, held: 25.0, ..Use::default() });
    assert_eq!(wanted_at_once(&drawn, &drawn.locks[lock]), 0.0);
}

#[test]
fn a_mutex_belongs_to_a_condition_only_if_threads_wait_for_it() {
    let of_condition = |waits: u64| {
        let mut drawn = process(10.0, 4);
        let lock = drawn.lock(Primitive::Mutex, "cache");
        let condition = drawn.lock(Primitive::Condvar, "was_added");
        let site = drawn.site(Op::MutexLock, "add at cache.c:10");
        drawn.uses(lock, site, Use { calls: 1_000, ..Use::default() });
        let wake = drawn.site(Op::CondBroadcast, "add at cache.c:14");
        drawn.uses(condition, wake, Use { calls: 2, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "find at cache.c:30");
        drawn.uses(condition, wait, Use { calls: waits, waits, ..Use::default() });
        let family = &Family::all(&drawn)[0];
        (family.is_of_condition(), family.has_condition())
    };
    assert_eq!(of_condition(1), (true, true));
    let rare = || {
        let mut drawn = process(10.0, 4);
        let lock = drawn.lock(Primitive::Mutex, "interpreter");
        let condition = drawn.lock(Primitive::Condvar, "all_stopped");
        let site = drawn.site(Op::MutexLock, "intern at string.c:10");
        drawn.uses(lock, site, Use { calls: 8_000_000, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "intern at string.c:14");
        drawn.uses(condition, wait, Use { calls: 1_619, waits: 1_619, ..Use::default() });
        Family::all(&drawn)[0].is_of_condition()
    };
    assert!(!rare(), "once in 5,000 acquisitions all have to stop for a collection");
    assert_eq!(of_condition(0), (false, true), "it must still be a mutex");
}

/// Modelled on POCO's cache: in 2.4 seconds of processor time, its threads make 16 million calls
/// and take five locks in each.
#[test]
fn calls_take_no_longer_than_their_threads_ran() {
    let mut drawn = process(10.0, 4);
    let first = drawn.threads("serve", 4, 10.0);
    let lock = drawn.lock(Primitive::Mutex, "event");
    let site = drawn.site(Op::MutexLock, "notify");
    drawn.uses(lock, site, Use { calls: 16_000_000, ..Use::default() });
    drawn.by_thread(site, (first..first + 4).map(|thread| (thread, 4_000_000)));
    assert_eq!(Family::all(&drawn)[0].likely_pair(), SHARED_PAIR);
    for thread in first..first + 4 {
        drawn.threads[thread].cpu = Some(0.6);
        drawn.threads[thread].acquisitions = 20_000_000;
    }
    let pair = Family::all(&drawn)[0].likely_pair();
    assert!((pair - 21e-9).abs() < 1e-12, "{pair}");
}
