//! What users of the standard library's and parking_lot's types expect of this library's types:
//! mapped guards, downgraded and upgraded ones, guards that own their lock, deadlines, one-time
//! initialization, barriers and reentrant mutexes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use syncline::lock::{
    CompactRw, Downgrade, FairRw, Mcs, RwGate, Ticket, TimedMcs, Upgradable, WritersFirst,
};
use syncline::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, ReentrantMutex, RwLock};
use syncline::{MappedMutexGuard, MutexGuard};
use syncline::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

const PATIENCE: Duration = Duration::from_millis(20);

#[test]
fn a_mapped_guard_holds_the_lock() {
    fn check<L: syncline::lock::TryLock>() {
        let mutex: Mutex<(u32, Vec<u32>), L> = Mutex::from_raw(L::default(), (1, vec![2]));
        let list = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
        let mut last = MappedMutexGuard::map(list, |list| list.last_mut().unwrap());
        *last += 1;
        assert_eq!(format!("{last} {last:?}"), "3 3");
        thread::scope(|scope| _ = scope.spawn(|| assert!(mutex.try_lock().is_none())));
        drop(last);
        assert_eq!(mutex.try_lock().unwrap().1, [3]);
    }
    check::<Mcs>();
    check::<Ticket>();
    check::<syncline::lock::Gate>();
}

#[test]
fn a_guard_without_the_part_comes_back() {
    let mutex = Mutex::new(vec![1]);
    let guard = MutexGuard::filter_map(mutex.lock(), |list| list.get_mut(1)).unwrap_err();
    assert!(mutex.is_locked());
    let first = MutexGuard::try_map(guard, |list| list.get_mut(0)).unwrap();
    let first = MappedMutexGuard::try_map(first, |_| None::<&mut ()>).unwrap_err();
    assert_eq!(*first, 1);
    drop(first);
    let lock = RwLock::new(vec![1]);
    let guard = RwLockReadGuard::filter_map(lock.read(), |list| list.get(1)).unwrap_err();
    let first = RwLockReadGuard::try_map(guard, |list| list.first()).unwrap();
    assert!(*first == 1 && lock.is_locked() && !lock.is_locked_exclusive());
    drop(first);
    let guard = RwLockWriteGuard::filter_map(lock.write(), |list| list.get_mut(1)).unwrap_err();
    let mut first = RwLockWriteGuard::map(guard, |list| &mut list[0]);
    *first += 1;
    assert!(lock.is_locked_exclusive());
    drop(first);
    assert_eq!(lock.into_inner(), [2]);
}

#[test]
fn a_panic_while_a_part_is_looked_for_releases_the_lock() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        drop(MutexGuard::map(mutex.lock(), |_| -> &mut u32 { panic!("on purpose") }))
    }));
    assert!(panicked.is_err() && !mutex.is_locked());
}

#[test]
fn a_guard_lets_go_for_a_while() {
    let mutex: Mutex<u32, Mcs> = Mutex::with_lock(1);
    let mut guard = mutex.lock();
    MutexGuard::unlocked(&mut guard, || *mutex.lock() += 1);
    assert_eq!(*guard, 2);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        MutexGuard::unlocked(&mut guard, || panic!("on purpose"));
    }));
    assert!(panicked.is_err() && mutex.is_locked());
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn guards_keep_the_arc_of_their_lock() {
    let mutex: Arc<Mutex<u32, TimedMcs>> = Arc::new(Mutex::with_lock(1));
    let mut guard = mutex.lock_arc();
    *guard += 1;
    assert!(mutex.try_lock_arc().is_none());
    let other = Arc::clone(&mutex);
    let late = thread::spawn(move || other.try_lock_arc_for(PATIENCE).is_none());
    assert!(late.join().unwrap());
    drop(mutex);
    assert_eq!(Arc::strong_count(syncline::ArcMutexGuard::mutex(&guard)), 1);
    drop(guard);

    let lock: Arc<RwLock<u32, RwGate>> = Arc::new(RwLock::with_lock(1));
    let (first, second) = (lock.read_arc(), lock.try_read_arc().unwrap());
    assert!(lock.try_write_arc().is_none() && *first == *second);
    drop((first, second));
    *lock.write_arc() += 1;
    assert_eq!(*lock.read(), 2);
    let lock = Arc::new(RwLock::new(1));
    let reader = lock.try_read_arc_for(PATIENCE).unwrap();
    assert!(lock.try_write_arc_for(PATIENCE).is_none());
    assert!(lock.try_write_arc_until(Instant::now()).is_none());
    assert_eq!(lock.try_read_arc_until(Instant::now()).as_deref(), Some(&*reader));
}

/// A writer that becomes a reader lets readers in and keeps writers out.
fn downgrades<L: Downgrade + syncline::lock::TrySharedLock>() {
    let lock: RwLock<u32, L> = RwLock::from_raw(L::default(), 0);
    let begun = AtomicUsize::new(0);
    let mut writer = lock.write();
    thread::scope(|scope| {
        for number in 0..4 {
            let (lock, begun) = (&lock, &begun);
            scope.spawn(move || {
                begun.fetch_add(1, SeqCst);
                if number == 0 {
                    *lock.write() += 10;
                } else {
                    let seen = *lock.read();
                    assert!(seen == 1 || seen == 11, "{seen}");
                }
            });
        }
        while begun.load(SeqCst) < 4 {
            thread::yield_now();
        }
        thread::sleep(PATIENCE);
        *writer += 1;
        let reader = RwLockWriteGuard::downgrade(writer);
        thread::sleep(PATIENCE);
        assert_eq!(*reader, 1);
        drop(reader);
    });
    assert_eq!(*lock.read(), 11);
    let reader = RwLockWriteGuard::downgrade(lock.write());
    assert!(lock.try_read().is_some() && lock.try_write().is_none());
    drop(reader);
    assert!(lock.try_write().is_some());
}

#[test]
fn a_writer_becomes_a_reader() {
    downgrades::<CompactRw>();
    downgrades::<RwGate>();
    downgrades::<RwGate<WritersFirst>>();
    downgrades::<Upgradable>();
    downgrades::<Upgradable<WritersFirst>>();
}

/// The first thread writes. Each other thread reads, upgrades its share, and writes a value that
/// depends on the one that it read. No other thread may write in between.
fn upgrades<L: syncline::lock::TrySharedLock>()
where
    Upgradable<L>: syncline::lock::Upgrade,
{
    const ROUNDS: usize = 200;
    let lock: RwLock<usize, Upgradable<L>> = RwLock::from_raw(Upgradable::default(), 0);
    thread::scope(|scope| {
        for number in 0..4 {
            let lock = &lock;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    if number == 0 {
                        *lock.write() += 1;
                        drop(lock.read());
                        continue;
                    }
                    let guard = lock.upgradable_read();
                    let seen = *guard;
                    thread::yield_now();
                    let mut guard = match RwLockUpgradableReadGuard::try_upgrade(guard) {
                        Ok(guard) => guard,
                        Err(guard) => RwLockUpgradableReadGuard::upgrade(guard),
                    };
                    assert_eq!(*guard, seen);
                    *guard += 1;
                    let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
                    assert_eq!(*guard, seen + 1);
                    let guard = RwLockUpgradableReadGuard::downgrade(guard);
                    assert_eq!(*guard, seen + 1);
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 4 * ROUNDS);
}

#[test]
fn a_reader_becomes_the_writer() {
    upgrades::<CompactRw>();
    upgrades::<RwGate<FairRw>>();
    upgrades::<WritersFirst<syncline::wait::Park>>();
}

#[test]
fn one_reader_is_upgradable_and_others_share_beside_it() {
    let lock: RwLock<u32, Upgradable> = RwLock::with_lock(1);
    let guard = lock.upgradable_read();
    assert!(lock.try_upgradable_read().is_none() && lock.try_write().is_none());
    let reader = lock.try_read().unwrap();
    let guard = RwLockUpgradableReadGuard::try_upgrade(guard).unwrap_err();
    assert!(lock.try_upgradable_read().is_none(), "it is held still");
    drop(reader);
    let guard = RwLockUpgradableReadGuard::try_upgrade(guard).unwrap();
    assert!(lock.try_read().is_none());
    drop(guard);
    assert!(lock.try_upgradable_read().is_some());
}

#[test]
fn upgrades_are_given_up() {
    let lock: RwLock<u32, Upgradable> = RwLock::with_lock(1);
    let (guard, reader) = (lock.upgradable_read(), lock.read());
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(lock.try_upgradable_read_for(PATIENCE).is_none());
            assert!(lock.try_upgradable_read_until(Instant::now() + PATIENCE).is_none());
        });
    });
    let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, PATIENCE).unwrap_err();
    assert!(lock.try_upgradable_read().is_none(), "it is held still");
    drop(reader);
    let mut guard = RwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now()).unwrap();
    *guard += 1;
    drop(guard);
    assert_eq!(lock.try_upgradable_read_for(Duration::ZERO).as_deref(), Some(&2));
}

#[test]
fn instants_are_deadlines() {
    let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
    let reentrant = ReentrantMutex::new(0);
    let guards = (mutex.lock(), lock.write(), reentrant.lock());
    thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + PATIENCE;
            assert!(mutex.try_lock_until(deadline).is_none());
            assert!(lock.try_read_until(deadline).is_none());
            assert!(lock.try_write_until(deadline).is_none());
            assert!(reentrant.try_lock_until(deadline).is_none());
            assert!(Instant::now() >= deadline);
        });
    });
    drop(guards);
    let past = Instant::now();
    assert!(mutex.try_lock_until(past).is_some() && lock.try_write_until(past).is_some());
    let mut guard = mutex.lock();
    assert!(Condvar::new().wait_until(&mut guard, past).timed_out());
}

#[test]
fn a_wait_for_a_condition_ends_with_it_or_with_its_time() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    let mut guard = mutex.lock();
    assert!(changed.wait_while_for(&mut guard, |value| *value == 0, PATIENCE).timed_out());
    assert!(!changed.wait_timeout_while(&mut guard, PATIENCE, |value| *value == 1).timed_out());
    assert!(changed.wait_timeout(&mut guard, Duration::ZERO).timed_out());
    thread::scope(|scope| {
        scope.spawn(|| {
            *mutex.lock() = 1;
            changed.notify_one();
        });
        let later = Instant::now() + Duration::from_secs(600);
        assert!(!changed.wait_while_until(&mut guard, |value| *value == 0, later).timed_out());
    });
    assert_eq!((*guard, format!("{changed:?}")), (1, "Condvar { .. }".to_owned()));
}

#[test]
fn it_happens_once() {
    let (once, count) = (Once::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (once, count) = (&once, &count);
            scope.spawn(move || {
                if number % 4 == 3 {
                    once.wait();
                } else {
                    once.call_once(|| {
                        thread::sleep(PATIENCE);
                        count.fetch_add(1, SeqCst);
                    });
                }
                assert_eq!(count.load(SeqCst), 1);
            });
        }
    });
    assert!(once.is_completed());
}

#[test]
fn after_a_panic_it_has_to_be_forced() {
    let once = Once::new();
    let fail = || once.call_once(|| panic!("on purpose"));
    thread::scope(|scope| {
        scope.spawn(|| once.wait_force());
        thread::sleep(PATIENCE);
        assert!(catch_unwind(AssertUnwindSafe(fail)).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
        once.call_once_force(|state| assert!(state.is_poisoned()));
    });
    once.call_once(|| unreachable!("it has happened"));
}

#[test]
fn a_value_is_written_once() {
    let (place, made) = (OnceLock::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (place, made) = (&place, &made);
            scope.spawn(move || {
                let make = || {
                    thread::sleep(PATIENCE);
                    made.fetch_add(1, SeqCst);
                    Box::new(number)
                };
                let value = if number == 7 { place.wait() } else { place.get_or_init(make) };
                assert_eq!(place.get(), Some(value));
            });
        }
    });
    assert_eq!(made.load(SeqCst), 1);
    let mut copy = place.clone();
    assert!(copy == place && copy.take() == place.into_inner());
    assert_eq!(format!("{copy:?}"), "OnceLock(<uninit>)");
    assert_eq!((copy.set(Box::new(9)), copy.get_mut()), (Ok(()), Some(&mut Box::new(9))));
    assert_eq!(format!("{copy:?} {:?}", copy.set(Box::new(8))), "OnceLock(9) Err(8)");
}

#[test]
fn a_place_whose_function_panics_stays_empty() {
    let place = OnceLock::new();
    let panicked =
        catch_unwind(AssertUnwindSafe(|| *place.get_or_init(|| -> u32 { panic!("on purpose") })));
    assert!(panicked.is_err() && place.get().is_none());
    assert_eq!(place.get_or_init(|| 1), &1);
}

#[test]
fn a_lazy_value_is_made_by_who_looks() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static VALUE: LazyLock<usize> = LazyLock::new(|| MADE.fetch_add(1, SeqCst) + 1);
    assert_eq!(format!("{VALUE:?}"), "LazyLock(<uninit>)");
    thread::scope(|scope| {
        (0..4).for_each(|_| _ = scope.spawn(|| assert_eq!(*VALUE, 1)));
    });
    assert_eq!(format!("{VALUE:?}"), "LazyLock(1)");
    let broken = LazyLock::new(|| -> u32 { panic!("on purpose") });
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| *broken)).is_err());
    }
}

#[test]
fn threads_meet_round_by_round() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 100;
    let (barrier, arrived, led) = (Barrier::new(THREADS), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    arrived.fetch_add(1, SeqCst);
                    led.fetch_add(usize::from(barrier.wait().is_leader()), SeqCst);
                    assert!(arrived.load(SeqCst) >= round * THREADS);
                    barrier.wait();
                    assert_eq!(led.load(SeqCst), round);
                    barrier.wait();
                }
            });
        }
    });
    assert!(Barrier::new(0).wait().is_leader() && Barrier::new(1).wait().is_leader());
}

#[test]
fn a_thread_locks_again_what_it_holds() {
    let mutex: ReentrantMutex<Cell<u32>> = ReentrantMutex::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let outer = mutex.lock();
                    let inner = mutex.try_lock().unwrap();
                    outer.set(outer.get() + 1);
                    drop(outer);
                    assert!(mutex.is_owned_by_current_thread());
                    inner.set(inner.get() + 1);
                }
            });
        }
    });
    assert!(!mutex.is_owned_by_current_thread() && !mutex.is_locked());
    let guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| assert!(mutex.is_locked() && mutex.try_lock_for(PATIENCE).is_none()));
    });
    assert_eq!(guard.get(), 4000);
}
