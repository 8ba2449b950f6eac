//! Threads that wait for each other's locks are told so in debug builds, with the lines where the
//! locks were taken and are waited for; threads that only nearly do are not. A release build would
//! wait.

#![cfg(debug_assertions)]

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use syncline::lock::{GatedClh, Mcs, RawLock, Ticket};
use syncline::{Mutex, RwLock};

/// `file:line:` of the place that is so many lines further.
macro_rules! further {
    ($lines:expr) => {
        format!("{}:{}:", file!(), (line!() as i32 + $lines))
    };
}

/// Runs threads that wait for each other. One has to panic, so that the others get on; or several,
/// that have come to wait at the same time. What one of them says.
fn told(threads: Vec<Box<dyn FnOnce() + Send>>) -> String {
    let handles: Vec<_> = threads
        .into_iter()
        .enumerate()
        .map(|(place, run)| {
            let thread = thread::Builder::new().name(format!("waiter-{place}"));
            thread.spawn(run).expect("a thread")
        })
        .collect();
    let panics: Vec<_> = handles.into_iter().filter_map(|handle| handle.join().err()).collect();
    assert!(!panics.is_empty(), "one of them is told, and the others get on");
    panics[0].downcast_ref::<String>().expect("it is told in words").clone()
}

/// Each of these threads has one lock and then wants that of the next one.
fn ring<L: RawLock + 'static>(count: usize) {
    let locks: Arc<Vec<Mutex<(), L>>> =
        Arc::new((0..count).map(|_| Mutex::from_raw(L::default(), ())).collect());
    let all_hold = Arc::new(Barrier::new(count));
    let (mut taken, mut waits) = (String::new(), String::new());
    let mut threads: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for place in 0..count {
        let (locks, all_hold) = (Arc::clone(&locks), Arc::clone(&all_hold));
        (taken, waits) = (further!(2), further!(4));
        threads.push(Box::new(move || {
            let _held = locks[place].lock();
            all_hold.wait();
            let _wanted = locks[(place + 1) % count].lock();
        }));
    }
    let words = told(threads);
    assert!(words.starts_with(&format!("deadlock: each of {count} threads")), "{words}");
    let lines: Vec<_> = words.lines().skip(1).collect();
    assert_eq!(lines.len(), count, "{words}");
    for (place, line) in lines.iter().enumerate() {
        assert!(line.contains(&format!("since {taken}")), "{taken} in {words}");
        assert!(line.contains(&format!("at {waits}")), "{waits} in {words}");
        assert!((0..count).any(|name| line.contains(&format!("'waiter-{name}'"))), "{words}");
        // Whatever one waits for the next one holds.
        let lock = |line: &str, word| {
            line.split(word).nth(1).unwrap().split(' ').next().map(str::to_owned)
        };
        let next = lines[(place + 1) % count];
        assert_eq!(lock(line, "waits for the lock "), lock(next, "holds the lock "), "{words}");
    }
    let names: BTreeSet<_> = lines.iter().map(|line| line.split('\'').nth(1)).collect();
    assert_eq!(names.len(), count, "{words}");
}

#[test]
fn two_in_opposite_orders() {
    (0..20).for_each(|_| ring::<GatedClh>(2));
}

#[test]
fn three_and_five_in_a_ring() {
    ring::<Mcs>(3);
    ring::<Ticket>(5);
}

#[test]
fn a_reader_and_a_writer() {
    let (shared, other) = (Arc::new(RwLock::new(1)), Arc::new(Mutex::new(2)));
    let both_hold = Arc::new(Barrier::new(2));
    let (theirs, others, hold) = (shared.clone(), other.clone(), both_hold.clone());
    let words = told(vec![
        Box::new(move || {
            let _writer = theirs.write();
            hold.wait();
            others.with(|_| ());
        }),
        Box::new(move || {
            let _held = other.try_lock().expect("it is free");
            both_hold.wait();
            let _reader = shared.read();
        }),
    ]);
    assert!(words.contains(&further!(-10)), "{words}");
    assert!(words.contains(&further!(-9)), "{words}");
    assert!(words.contains(&further!(-7)), "{words}");
    assert!(words.contains(&further!(-6)), "{words}");
}

/// Locks that are taken in order by many threads, and in any order by those that only try or have a
/// deadline: they wait for each other all the time, and never in a ring.
#[test]
fn no_false_alarm() {
    let locks: Vec<Mutex<u64>> = (0..4).map(|_| Mutex::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let locks = &locks;
            scope.spawn(move || {
                let mut random = thread + 1;
                for _ in 0..3000 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (one, other) = ((random >> 33) as usize % 4, (random >> 43) as usize % 4);
                    let (low, high) = (one.min(other), one.max(other));
                    let mut first = locks[if thread == 0 { high } else { low }].lock();
                    *first += 1;
                    if low == high {
                        continue;
                    }
                    let second = match thread {
                        0 => locks[low].try_lock(),
                        1 => locks[high].try_lock_for(Duration::from_micros(20)),
                        _ => Some(locks[high].lock()),
                    };
                    if let Some(mut second) = second {
                        *second += 1;
                    }
                }
            });
        }
    });
    assert!(locks.iter().map(|lock| *lock.lock()).sum::<u64>() >= 12_000);
}
