//! The types of both versions of `lock_api`, over this library's locks; and a raw lock of this
//! library in place of parking_lot's.

use std::thread;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(5);

/// Tests that have the same text for both versions.
macro_rules! tests {
    ($lock_api:ident) => {
        use ::$lock_api::{Mutex, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
        use syncline::lock::{CompactRw, Futex};
        use syncline::lock_api::{Raw, RawMutex, RawRwLock};

        use super::*;

        #[test]
        fn a_mutex_counts() {
            static TOTAL: Mutex<RawMutex, u64> = Mutex::new(0);
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..1000).for_each(|_| *TOTAL.lock() += 1));
                }
            });
            assert!(!TOTAL.is_locked());
            let guard = TOTAL.lock();
            assert!(TOTAL.is_locked() && TOTAL.try_lock().is_none());
            assert_eq!(*guard, 4000);
        }

        #[test]
        fn waiting_ends() {
            let mutex: Mutex<Raw<Futex>, u64> = Mutex::new(0);
            let guard = mutex.lock();
            assert!(mutex.try_lock_for(SOON).is_none());
            assert!(mutex.try_lock_until(Instant::now() + SOON).is_none());
            drop(guard);
            let lock: RwLock<Raw<CompactRw>, u64> = RwLock::new(0);
            let reader = lock.read();
            assert!(lock.try_read_for(SOON).is_some() && lock.try_write_for(SOON).is_none());
            assert!(lock.try_read_until(Instant::now()).is_some());
            assert!(lock.try_write_until(Instant::now() + SOON).is_none());
            drop(reader);
            assert!(lock.try_write_until(Instant::now()).is_some());
        }

        #[test]
        fn readers_share() {
            let lock: RwLock<Raw<CompactRw>, u64> = RwLock::new(7);
            let (first, second) = (lock.read(), lock.read());
            assert!(lock.try_write().is_none() && !lock.is_locked_exclusive());
            assert_eq!(*first + *second, 14);
            drop((first, second));
            let mut writer = lock.write();
            *writer += 1;
            assert!(lock.is_locked_exclusive());
            let reader = RwLockWriteGuard::downgrade(writer);
            assert!(*reader == 8 && lock.try_read().is_some());
        }

        #[test]
        fn shares_are_upgraded() {
            let lock: RwLock<RawRwLock, u64> = RwLock::new(7);
            let guard = lock.upgradable_read();
            assert!(lock.try_upgradable_read().is_none() && lock.try_read().is_some());
            let mut writer = RwLockUpgradableReadGuard::upgrade(guard);
            *writer += 1;
            let guard = RwLockWriteGuard::downgrade_to_upgradable(writer);
            let reader = lock.read();
            let guard = RwLockUpgradableReadGuard::try_upgrade(guard).err().expect("one reads");
            drop(reader);
            let writer = RwLockUpgradableReadGuard::try_upgrade(guard).ok().expect("nobody reads");
            drop(writer);
            let (guard, reader) = (lock.try_upgradable_read_for(SOON).unwrap(), lock.read());
            assert!(lock.try_upgradable_read_until(Instant::now() + SOON).is_none());
            let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, SOON).err().unwrap();
            let guard = RwLockUpgradableReadGuard::try_upgrade_until(guard, Instant::now());
            drop((guard, reader));
            let guard = RwLockUpgradableReadGuard::downgrade(lock.upgradable_read());
            assert!(*guard == 8 && lock.try_upgradable_read().is_some());
        }
    };
}

mod version_0_4 {
    tests!(lock_api_0_4);

    /// Code that works with any raw lock that has the trait, like dashmap and others.
    fn sum<R: lock_api_0_4::RawRwLock>(shards: &[RwLock<R, u64>]) -> u64 {
        shards.iter().map(|shard| *shard.read()).sum()
    }

    #[test]
    fn ours_stands_where_parking_lots_stood() {
        let theirs = [1, 2].map(RwLock::<parking_lot::RawRwLock, u64>::new);
        let ours = [1, 2].map(RwLock::<RawRwLock, u64>::new);
        assert_eq!(sum(&theirs), sum(&ours));
    }
}

mod version_0_5 {
    tests!(lock_api);

    #[test]
    fn queue_locks_carry_their_node() {
        use syncline::lock::{Mcs, TimedMcs};

        static TOTAL: Mutex<Raw<Mcs>, u64> = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *TOTAL.lock() += 1));
            }
        });
        assert_eq!(*TOTAL.lock(), 4000);
        let mutex: Mutex<Raw<TimedMcs>, u64> = Mutex::new(0);
        let _guard = mutex.lock();
        assert!(mutex.try_lock_for(SOON).is_none());
    }
}
