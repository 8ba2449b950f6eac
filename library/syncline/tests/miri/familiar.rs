//! Guards of parts, guards that change their lock's mode or own their lock, one-time
//! initialization, barriers and reentrant mutexes.

use std::cell::Cell;
use std::sync::Arc;

use syncline::lock::{Downgrade, FairRw, Mcs, RwGate, Upgradable, WritersFirst};
use syncline::wait::Park;
use syncline::{Barrier, LazyLock, Mutex, Once, OnceLock, ReentrantMutex, RwLock};
use syncline::{MappedMutexGuard, MutexGuard};
use syncline::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

use crate::{ROUNDS, SOON, THREADS, behind, fail, fails, together};

type Pair = (Box<u64>, Box<u64>);

#[test]
fn a_part_is_reached_while_the_whole_is_held() {
    let mutex: Mutex<Pair, Mcs> = Mutex::with_lock((Box::new(0), Box::new(0)));
    together(|_| {
        for _ in 0..ROUNDS {
            let second = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
            let mut number = MappedMutexGuard::map(second, |second| &mut **second);
            *number += 1;
        }
    });
    let nothing = MutexGuard::filter_map(mutex.lock(), |_| None::<&mut ()>);
    assert_eq!(*nothing.unwrap_err().1, THREADS * ROUNDS);
    fails(|| drop(MutexGuard::map(mutex.lock(), |_| -> &mut u64 { fail() })));
    let mut guard = mutex.lock();
    MutexGuard::unlocked(&mut guard, || *mutex.lock().0 += 1);
    assert_eq!(*guard.0, 1);
}

#[test]
fn a_part_is_read_and_written_under_a_shared_lock() {
    let lock: RwLock<Pair> = RwLock::new((Box::new(0), Box::new(0)));
    together(|number| {
        if number == 0 {
            **RwLockWriteGuard::map(lock.write(), |pair| &mut pair.0) += 1;
        } else {
            let first = RwLockReadGuard::map(lock.read(), |pair| &*pair.0);
            assert!(*first < 2);
        }
    });
}

/// A guard that is passed to a function by value must not claim that its reference is still valid
/// after the guard was dropped there.
#[test]
fn a_mapped_guard_ends_inside_of_a_function() {
    let mutex: Mutex<Box<u64>> = Mutex::new(Box::new(0));
    together(|_| {
        let guard = MutexGuard::map(mutex.lock(), |value| &mut **value);
        let end = |mut guard: MappedMutexGuard<'_, u64>| *guard += 1;
        end(guard);
    });
    assert_eq!(*mutex.into_inner(), THREADS);
}

fn changed<L: Downgrade>() {
    let lock: RwLock<Box<u64>, L> = RwLock::from_raw(L::default(), Box::new(0));
    together(|number| {
        if number == 0 {
            drop(lock.read());
            return;
        }
        let mut guard = lock.write();
        **guard += 1;
        let seen = **guard;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(**guard, seen);
    });
    assert_eq!(*lock.into_inner(), THREADS - 1);
}

#[test]
fn a_writer_becomes_a_reader() {
    changed::<syncline::lock::CompactRw>();
    changed::<RwGate<FairRw>>();
    changed::<Upgradable<WritersFirst<Park>>>();
}

#[test]
fn a_reader_becomes_the_writer() {
    type Lock = Upgradable<WritersFirst<Park>>;
    let lock: RwLock<Box<u64>, Lock> = RwLock::with_lock(Box::new(0));
    together(|_| {
        let guard = lock.upgradable_read();
        let seen = **guard;
        let mut guard = match RwLockUpgradableReadGuard::try_upgrade(guard) {
            Ok(guard) => guard,
            Err(guard) => RwLockUpgradableReadGuard::upgrade(guard),
        };
        assert_eq!(**guard, seen);
        **guard += 1;
        let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
        assert_eq!(**RwLockUpgradableReadGuard::downgrade(guard), seen + 1);
    });
    let (upgradable, reader) = (lock.try_upgradable_read().unwrap(), lock.read());
    let upgradable = RwLockUpgradableReadGuard::try_upgrade(upgradable).unwrap_err();
    assert_eq!(**upgradable, **reader);
}

/// The last guard drops the lock, on any thread.
#[test]
fn guards_keep_their_lock() {
    let mutex: Arc<Mutex<Box<u64>, Mcs>> = Arc::new(Mutex::with_lock(Box::new(0)));
    let lock = Arc::new(RwLock::new(Box::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (mutex, lock) = (Arc::clone(&mutex), Arc::clone(&lock));
            std::thread::spawn(move || {
                let mut guard = mutex.lock_arc();
                drop(mutex);
                **guard += 1;
                **lock.write_arc() += 1;
                let reader = lock.read_arc();
                drop(lock);
                assert!(**reader > 0);
            })
        })
        .collect();
    drop((mutex, lock));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn it_happens_once_and_is_seen() {
    for _ in 0..ROUNDS {
        let (once, place) = (Once::new(), OnceLock::new());
        let lazy = LazyLock::new(|| Box::new(7));
        together(|number| {
            once.call_once(|| assert!(place.set(Box::new(number)).is_ok()));
            assert!(place.get().is_some_and(|value| **value < THREADS));
            assert_eq!(place.get_or_init(|| Box::new(THREADS)), place.wait());
            assert_eq!(**lazy, 7);
        });
        assert!(*place.into_inner().unwrap() < THREADS);
    }
}

#[test]
fn what_panics_leaves_nothing() {
    let (once, place) = (Once::new(), OnceLock::<Box<u64>>::new());
    std::thread::scope(|scope| {
        scope.spawn(|| once.wait_force());
        scope.spawn(|| assert_eq!(**place.wait(), 1));
        std::thread::sleep(SOON);
        fails(|| once.call_once(|| fail()));
        fails(|| place.get_or_init(|| fail()));
        once.call_once_force(|state| assert!(state.is_poisoned()));
        place.get_or_init(|| Box::new(1));
    });
}

#[test]
fn threads_meet() {
    let (barrier, values) = (Barrier::new(THREADS as usize), RwLock::new(Vec::new()));
    together(|_| {
        for round in 1..=ROUNDS {
            values.write().push(Box::new(round));
            barrier.wait();
            assert_eq!(values.read().len() as u64, THREADS * round);
            barrier.wait();
        }
    });
}

#[test]
fn a_thread_locks_again_what_it_holds() {
    let mutex = ReentrantMutex::new(Cell::new(Box::new(0)));
    together(|_| {
        let outer = mutex.lock();
        let inner = mutex.lock();
        drop(outer);
        let value = *inner.take();
        inner.set(Box::new(value + 1));
    });
    behind(mutex.lock(), |_| drop(mutex.try_lock_for(crate::AT_ONCE)));
    assert_eq!(*mutex.into_inner().into_inner(), THREADS);
}
