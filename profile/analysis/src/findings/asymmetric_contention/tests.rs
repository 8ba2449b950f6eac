//! Tests with locks of hash buckets, some evenly used and some not.

use syncline_recording::{Op, Primitive};

use super::*;
use crate::findings::testing::{Drawn, Use, process};
use crate::model::Way;

/// Locks of hash buckets: for each, the number of acquisitions in ten seconds, and the share of
/// them that waited, for `wait` seconds each.
fn buckets(of: &[(u64, f64)], wait: f64) -> Drawn {
    let mut drawn = process(10.0, 4);
    drawn.threads("deduplicate", 4, 10.0);
    let locks = drawn.locks_created(Primitive::Mutex, of.len(), "hashtable_create at table.c:9");
    let site = drawn.site(Op::MutexLock, "sub_Compress at encoder.c:1051");
    for (&(calls, contention), lock) in of.iter().zip(locks) {
        let waits = (calls as f64 * contention) as u64;
        let waited = waits as f64 * wait;
        drawn.uses(lock, site, Use { calls, waits, waited, ..Use::default() });
    }
    drawn
}

fn found(drawn: &Drawn) -> Vec<Finding> {
    find(drawn, &Thresholds::default())
}

#[test]
fn dedups_buckets_are_found_at_their_line_with_the_hot_lock() {
    let mut of: Vec<(u64, f64)> = (3..60).map(|n| (n * 10, 0.009)).collect();
    of.push((8_586, 0.136));
    let findings = found(&buckets(&of, 100e-6));
    assert_eq!(findings[0].place, "sub_Compress at encoder.c:1051");
    assert_eq!(findings[0].locks, [57]);
    let value = |what: &str| findings[0].evidence.iter().find(|e| e.what == what).unwrap().value;
    assert_eq!(value("acquisitions of the least used lock"), 30.0);
    assert_eq!(value("acquisitions of the most used lock"), 8_586.0);
}

/// Modelled on Boost's signals: each signal has a lock, and all signals but one were only
/// connected.
#[test]
fn locks_that_were_hardly_used_are_not_quiet_others() {
    let of = |others: u64| {
        found(&buckets(&[(100_000, 0.3), (others, 0.0), (others, 0.0), (others, 0.0)], 100e-6))
    };
    assert!(of(9).is_empty());
    assert_eq!(of(10).len(), 1);
}

#[test]
fn evenly_contended_buckets_have_no_finding() {
    assert!(found(&buckets(&[(10_000, 0.5); 16], 100e-6)).is_empty());
    let mut noisy: Vec<(u64, f64)> =
        (0..64).map(|n| (9_000 + 37 * n, 0.10 + 0.001 * n as f64)).collect();
    noisy[0] = (100, 0.2);
    assert!(found(&buckets(&noisy, 100e-6)).is_empty());
}

#[test]
fn a_hot_lock_has_twice_the_median_use_and_contention() {
    let with = |calls, contention| {
        let mut of = vec![(5_000, 0.06); 16];
        of[7] = (calls, contention);
        found(&buckets(&of, 50e-6)).len()
    };
    assert_eq!(with(100_000, 0.30), 1);
    assert_eq!(with(100_000, 0.11), 0, "not twice the median's contention");
    assert_eq!(with(9_900, 0.99), 0, "not twice the median's acquisitions");
}

#[test]
fn rare_waits_short_waits_and_few_locks_have_no_finding() {
    let mut of = vec![(1_000, 0.0); 16];
    of[0] = (50_000, 0.11);
    assert_eq!(found(&buckets(&of, 10e-6)).len(), 1, "0.55 % of the run");
    assert!(found(&buckets(&of, 9e-6)).is_empty(), "0.495 %");
    assert!(found(&buckets(&of[..3], 10e-6)).is_empty());
    of[0] = (50, 0.18);
    assert!(found(&buckets(&of, 0.1)).is_empty(), "nine waits");
}

#[test]
fn locks_that_were_never_taken_count_as_quiet() {
    let mut of = vec![(100_000, 0.2); 4];
    of.extend([(1_000, 0.0); 4]);
    let mut drawn = buckets(&of, 100e-6);
    assert!(found(&drawn).is_empty(), "half of the locks are hot");
    let init = drawn.site(Op::MutexInit, "hashtable_create at table.c:9");
    let creator = drawn.locks[0].created_at.unwrap();
    // The locks of another table are created at the same line.
    drawn.sites[init].stacks.push(creator);
    let made = |calls| Way { calls, ..Way::default() };
    drawn.sites[init].ways = vec![made(8), made(8)];
    assert!(found(&drawn).is_empty(), "half of those that were made");
    drawn.sites[init].ways = vec![made(8), made(16)];
    assert_eq!(found(&drawn).len(), 1, "a quarter of those that were made");
}

/// A class of tables has one line that creates locks and one that takes them. A table with one lock
/// is not a table whose other locks are hardly used.
#[test]
fn locks_of_different_tables_are_no_family() {
    let mut of: Vec<(u64, f64)> = (3..60).map(|n| (n * 10, 0.009)).collect();
    of.push((8_586, 0.136));
    let mut drawn = buckets(&of, 100e-6);
    let other = drawn.stack("open_cache at main.c:20");
    let constructor = drawn.stacks[drawn.locks[0].created_at.unwrap()].frames[0];
    drawn.stacks[other].frames.insert(0, constructor);
    drawn.stacks[other].place = Some(constructor);
    drawn.locks[57].created_at = Some(other);
    assert!(found(&drawn).is_empty());
}

#[test]
fn on_a_busy_machine_the_time_held_shows_the_hot_lock() {
    let mut of = vec![(1_000, 0.0); 16];
    of[3] = (400_000, 0.002);
    let mut drawn = buckets(&of, 2e-3);
    assert!(found(&drawn).is_empty());
    // Threads work for 50 seconds in all, and hold the lock for 4.
    drawn.locks[3].sites[0].held = 4.0;
    assert_eq!(found(&drawn)[0].locks, [3]);
}

#[test]
fn a_table_with_a_third_of_hot_locks_has_no_finding() {
    let of: Vec<(u64, f64)> =
        (0..12).map(|n| if n % 3 == 0 { (50_000, 0.2) } else { (1_000, 0.0) }).collect();
    assert!(found(&buckets(&of, 100e-6)).is_empty());
}

#[test]
fn the_predicted_parts_come_from_an_even_spread() {
    let mut of = vec![(10, 0.0); 10];
    of[0] = (100_000, 0.2);
    let Remedy::SplitLock { parts, .. } = found(&buckets(&of, 100e-6))[0].remedy else { panic!() };
    assert!((9.9..=10.0).contains(&parts), "{parts}: one of ten locks had nearly all");
}

/// Locks with the figures of a table's buckets, but of objects that one constructor made for all
/// sorts of owners.
#[test]
fn locks_created_at_one_line_for_many_purposes_are_no_family() {
    let mut of: Vec<(u64, f64)> = (3..60).map(|n| (n * 10, 0.009)).collect();
    of.push((8_586, 0.136));
    let mut drawn = buckets(&of, 100e-6);
    let mut random = fastrand::Rng::with_seed(1);
    for lock in &mut drawn.locks {
        lock.address = 0x10_0000 + 16 * random.u64(..0x1_0000);
    }
    assert!(found(&drawn).is_empty());
    // Some buckets of a table are never used.
    for (number, lock) in drawn.locks.iter_mut().enumerate() {
        lock.address = 0x10_0000 + 48 * (3 * number + random.usize(..3)) as u64;
    }
    assert_eq!(found(&drawn).len(), 1);
}
