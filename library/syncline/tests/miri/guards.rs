//! Uses of guards that the tests of all locks don't have: formatting, dropping in any order,
//! unsized values, and locks in statics. Also the types of `lock_api`.

use std::mem::ManuallyDrop;

use syncline::lock::{Mcs, TimedClh};
use syncline::{Mutex, MutexGuard, RwLock};

use crate::{THREADS, together};

#[test]
fn guards_of_several_locks_go_in_any_order() {
    let locks: [Mutex<Box<u64>, Mcs>; 2] = [1, 2].map(|value| Mutex::with_lock(Box::new(value)));
    let (mut first, second) = (locks[0].lock(), locks[1].lock());
    **first += **second;
    drop(first);
    let again = locks[0].lock();
    assert_eq!(**again + **second, 5);
    drop((again, second));
}

#[test]
fn a_guard_shows_its_value_and_a_held_lock_shows_that() {
    let mutex = Mutex::new(7);
    let guard = mutex.lock();
    assert_eq!(format!("{guard:?} {mutex:?}"), "7 Mutex { data: <locked>, .. }");
    drop(guard);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 7, .. }");
    let lock = RwLock::new(7);
    let guard = lock.read();
    assert_eq!(format!("{guard:?}"), "7");
    drop(guard);
    let guard = lock.write();
    assert_eq!(format!("{guard:?} {lock:?}"), "7 RwLock { data: <locked>, .. }");
}

#[test]
fn a_value_may_have_no_size_of_its_own() {
    let mutex: &Mutex<[u64], TimedClh> = &Mutex::with_lock([1, 2, 3]);
    together(|_| mutex.lock().iter_mut().for_each(|number| *number += 1));
    let guard: MutexGuard<'_, [u64], TimedClh> = mutex.lock();
    assert_eq!(*guard, [1, 2, 3].map(|number| number + THREADS));
}

#[test]
fn a_shared_guard_is_read_by_other_threads() {
    let lock = RwLock::new(Box::new(7));
    let guard = lock.read();
    together(|_| assert_eq!(**guard, 7));
}

#[test]
fn readers_of_one_thread_share() {
    let lock = RwLock::new(Box::new(7));
    let (first, second) = (lock.read(), lock.read());
    let values = (&*first, &*second);
    assert_eq!(values.0, values.1);
}

#[test]
fn a_static_lock_is_used_by_all() {
    static TOTAL: Mutex<u64, Mcs> = Mutex::with_lock(0);
    together(|_| TOTAL.with(|total| *total += 1));
    assert_eq!(*TOTAL.lock(), THREADS);
}

/// The lock's own memory is freed with it, although a guard was forgotten.
#[test]
fn a_lock_whose_guard_was_forgotten_can_be_dropped() {
    let mutex: Box<Mutex<Box<u64>>> = Box::new(Mutex::new(Box::new(7)));
    // This lock has no nodes. The nodes of other locks would stay allocated.
    let guard = ManuallyDrop::new(mutex.lock());
    assert_eq!(***guard, 7);
    let _ = guard;
    assert_eq!(*mutex.into_inner(), 7);
}

#[cfg(feature = "lock_api")]
mod lock_api {
    use ::lock_api::{Mutex, RwLock};
    use syncline::lock::{CompactRw, TimedMcs};
    use syncline::lock_api::Raw;

    use crate::{AT_ONCE, THREADS, behind, together};

    #[test]
    fn a_mutex_of_lock_api_counts() {
        let mutex: Mutex<Raw<TimedMcs>, Box<u64>> = Mutex::new(Box::new(0));
        together(|_| **mutex.lock() += 1);
        behind(mutex.lock(), |_| drop(mutex.try_lock_for(AT_ONCE)));
        assert!(!mutex.is_locked());
        assert_eq!(*mutex.into_inner(), THREADS);
    }

    #[test]
    fn a_lock_of_lock_api_is_shared() {
        let lock: RwLock<Raw<CompactRw>, Box<u64>> = RwLock::new(Box::new(0));
        behind(lock.write(), |number| match number {
            0 => **lock.write() += 1,
            _ => assert!(**lock.read() < 2),
        });
        assert_eq!(*lock.into_inner(), 1);
    }
}

#[cfg(feature = "lock_api_0_4")]
mod lock_api_0_4 {
    use ::lock_api_0_4::{Mutex, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
    use syncline::lock_api::{RawMutex, RawRwLock};

    use crate::{AT_ONCE, THREADS, behind, together};

    #[test]
    fn a_mutex_of_lock_api_counts() {
        let mutex: Mutex<RawMutex, Box<u64>> = Mutex::new(Box::new(0));
        together(|_| **mutex.lock() += 1);
        behind(mutex.lock(), |_| drop(mutex.try_lock_for(AT_ONCE)));
        assert_eq!(*mutex.into_inner(), THREADS);
    }

    #[test]
    fn a_share_of_lock_api_is_upgraded() {
        let lock: RwLock<RawRwLock, Box<u64>> = RwLock::new(Box::new(0));
        together(|number| {
            let guard = lock.upgradable_read();
            let seen = **guard;
            let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
            **guard += 1;
            if number == 0 {
                assert_eq!(**RwLockWriteGuard::downgrade(guard), seen + 1);
            }
        });
        assert_eq!(*lock.into_inner(), THREADS);
    }
}
