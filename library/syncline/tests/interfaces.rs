//! The interfaces that most users need: mutexes with guards and closures, and condition variables,
//! which work with every lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use syncline::lock::{Gate, Mcs, RawLock, Tas, TimedClh, TimedMcs, Waiting};
use syncline::wait::Spin;
use syncline::{Condvar, Mutex, for_each_form};

#[test]
fn a_static_mutex_counts() {
    static HITS: Mutex<u64, Mcs> = Mutex::with_lock(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    *HITS.lock() += 1;
                    HITS.with(|hits| *hits += 1);
                }
            });
        }
    });
    assert_eq!(*HITS.lock(), 8000);
}

#[test]
fn a_panic_releases_the_lock_and_poisons_nothing() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        mutex.with(|value| {
            *value = 2;
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut value = mutex.lock();
        *value += 1;
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(mutex.try_lock().map(|value| *value), Some(3));
}

#[test]
fn a_held_lock_is_not_taken_by_trying() {
    fn check<L: syncline::lock::TimedLock>() {
        let mutex: Mutex<u32, L> = Mutex::from_raw(L::default(), 1);
        let guard = mutex.lock();
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(mutex.try_lock().is_none());
                let begin = Instant::now();
                assert!(mutex.try_lock_for(Duration::from_millis(20)).is_none());
                assert!(begin.elapsed() >= Duration::from_millis(20));
            });
        });
        drop(guard);
        assert!(mutex.try_lock_for(Duration::ZERO).is_some());
        assert!(mutex.try_lock().is_some());
    }
    check::<Tas>();
    check::<TimedMcs>();
    check::<TimedClh<Spin>>();
    check::<Gate>();
}

#[test]
fn a_forgotten_guard_leaks_and_nothing_more() {
    fn check<L: RawLock>() {
        let mutex: Mutex<String, L> = Mutex::from_raw(L::default(), "kept".to_owned());
        std::mem::forget(mutex.lock());
        let moved = Box::new(mutex);
        assert_eq!(moved.into_inner(), "kept");
    }
    macro_rules! form {
        ($name:expr, $waiting:ident, $type:ty, $lock:ident, $($feature:ident)*) => {
            check::<$type>();
        };
    }
    for_each_form!(form);
}

#[test]
fn what_is_under_a_mutex_shows_when_it_is_free() {
    let mutex = Mutex::new(7);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 7, .. }");
    let guard = mutex.lock();
    assert_eq!(format!("{guard:?} {mutex:?}"), "7 Mutex { data: <locked>, .. }");
}

/// Items go from producers to consumers through one slot, with a condition variable for each
/// direction; a lost wake-up would leave a thread waiting.
fn slot<L: RawLock<Memory = syncline::memory::Native>>(pairs: u64) {
    const ITEMS: u64 = 200;
    let slot: Mutex<Option<u64>, L> = Mutex::from_raw(L::default(), None);
    let (filled, emptied) = (Condvar::new(), Condvar::new());
    let (sum, sums) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..pairs {
            scope.spawn(|| {
                for item in 1..=ITEMS {
                    let mut slot = slot.lock();
                    emptied.wait_while(&mut slot, |slot| slot.is_some());
                    *slot = Some(item);
                    filled.notify_one();
                }
            });
            let sum = sum.clone();
            let (slot, filled, emptied) = (&slot, &filled, &emptied);
            scope.spawn(move || {
                let mut total = 0;
                for _ in 0..ITEMS {
                    let mut slot = slot.lock();
                    filled.wait_while(&mut slot, |slot| slot.is_none());
                    total += slot.take().expect("it was filled");
                    emptied.notify_one();
                }
                sum.send(total).expect("the test waits for it");
            });
        }
    });
    drop(sum);
    assert_eq!(sums.iter().sum::<u64>(), pairs * ITEMS * (ITEMS + 1) / 2);
}

#[test]
fn a_condition_variable_works_with_every_lock() {
    macro_rules! form {
        ($name:expr, $waiting:ident, $type:ty, $lock:ident, $($feature:ident)*) => {
            println!("{}", $name);
            // Few threads, if they wait without sleeping: each of them needs a processor.
            slot::<$type>(match Waiting::$waiting {
                Waiting::Parks => 4,
                Waiting::Spins | Waiting::Yields => 1,
            });
        };
    }
    for_each_form!(form);
}

#[test]
fn everybody_is_woken() {
    let go = Mutex::new(false);
    let changed = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| changed.wait_while(&mut go.lock(), |go| !*go));
        }
        thread::sleep(Duration::from_millis(10));
        *go.lock() = true;
        changed.notify_all();
    });
}

#[test]
fn a_wait_ends_when_its_time_is_up() {
    let mutex = Mutex::new(());
    let begin = Instant::now();
    let mut guard = mutex.lock();
    while !Condvar::new().wait_for(&mut guard, Duration::from_millis(20)).timed_out() {}
    assert!(begin.elapsed() >= Duration::from_millis(20));
    drop(guard);
    assert!(mutex.try_lock().is_some());
}

/// The notification comes before the deadline, and the lock becomes free only after the deadline.
#[test]
fn who_was_notified_in_time_is_not_timed_out() {
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    let patience = Duration::from_millis(200);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| changed.wait_for(&mut mutex.lock(), patience));
        while !changed.has_waiters() {
            thread::yield_now();
        }
        let held = mutex.lock();
        changed.notify_one();
        thread::sleep(patience);
        drop(held);
        assert!(!waiter.join().unwrap().timed_out());
    });
}
