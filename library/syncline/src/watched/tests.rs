//! Each section is reported to the memory while the lock is held, however the section is entered
//! and left.

use core::time::Duration;
use std::sync::Arc;
use std::vec::Vec;

use crate::lock::{
    Downgrade, RawLock, RawSharedLock, TimedLock, TimedSharedLock, TimedUpgrade, TryLock,
    TrySharedLock, Upgrade,
};
use crate::memory::Grouped;
use crate::{Mutex, MutexGuard, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

/// A lock for one thread, which notes the calls of its functions.
#[derive(Default)]
struct Noted;

macro_rules! notes {
    ($($function:ident($($node:ident),*) $(-> $done:ident)?: $what:literal;)*) => {
        $(unsafe fn $function(&self, $($node: &()),*) $(-> $done)? {
            $(let (): &() = $node;)*
            Grouped::note($what);
            $(true as $done)?
        })*
    };
}

// SAFETY: only one thread uses the lock, for one acquisition at a time; here and below.
unsafe impl RawLock for Noted {
    type Memory = Grouped;
    type Node = ();
    notes! { acquire(node): "acquire"; release(node): "release"; }
}

// SAFETY: as above.
unsafe impl TryLock for Noted {
    notes! { try_acquire(node) -> bool: "acquire"; }
}

// SAFETY: as above.
unsafe impl TimedLock for Noted {
    unsafe fn acquire_until(&self, (): &(), _: Duration) -> bool {
        Grouped::note("acquire");
        true
    }
}

// SAFETY: as above.
unsafe impl RawSharedLock for Noted {
    type SharedNode = ();
    notes! { acquire_shared(node): "share"; release_shared(node): "release share"; }
}

// SAFETY: as above.
unsafe impl TrySharedLock for Noted {
    notes! { try_acquire_shared(node) -> bool: "share"; }
}

// SAFETY: as above.
unsafe impl TimedSharedLock for Noted {
    unsafe fn acquire_shared_until(&self, (): &(), _: Duration) -> bool {
        Grouped::note("share");
        true
    }
}

// SAFETY: as above.
unsafe impl Downgrade for Noted {
    notes! { downgrade(node, share): "downgrade"; }
}

// SAFETY: as above.
unsafe impl Upgrade for Noted {
    notes! {
        acquire_upgradable(share): "share";
        try_acquire_upgradable(share) -> bool: "share";
        release_upgradable(share): "release share";
        upgrade(share, node): "upgrade";
        try_upgrade(share, node) -> bool: "upgrade";
        downgrade_upgradable(share): "downgrade";
        downgrade_to_upgradable(node, share): "downgrade";
    }
}

// SAFETY: as above.
unsafe impl TimedUpgrade for Noted {
    unsafe fn acquire_upgradable_until(&self, (): &(), _: Duration) -> bool {
        Grouped::note("share");
        true
    }
    unsafe fn upgrade_until(&self, (): &(), (): &(), _: Duration) -> bool {
        Grouped::note("upgrade");
        true
    }
}

/// The notes that a function leaves.
fn notes(what: impl FnOnce()) -> Vec<&'static str> {
    Grouped::notes();
    what();
    Grouped::notes()
}

const SECTION: [&str; 4] = ["acquire", "acquired", "releasing", "release"];
const SHARE: [&str; 4] = ["share", "acquired", "releasing", "release share"];

#[test]
fn of_a_mutex() {
    let mutex = Arc::new(Mutex::from_raw(Noted, 0_u32));
    let soon = Duration::MAX;
    assert_eq!(notes(|| drop(mutex.lock())), SECTION);
    assert_eq!(notes(|| drop(mutex.try_lock())), SECTION);
    assert_eq!(notes(|| drop(mutex.try_lock_until(soon))), SECTION);
    assert_eq!(notes(|| drop(mutex.lock_arc())), SECTION);
    assert_eq!(notes(|| mutex.with(|_| ())), SECTION);
    assert_eq!(notes(|| drop(MutexGuard::map(mutex.lock(), |value| value))), SECTION);
    let unlocked = || MutexGuard::unlocked(&mut mutex.lock(), || Grouped::note("others"));
    assert_eq!(notes(unlocked), [&SECTION[..], &["others"], &SECTION].concat());
}

#[test]
fn of_a_readers_writer_lock() {
    let lock = Arc::new(RwLock::from_raw(Noted, 0_u32));
    let soon = Duration::MAX;
    assert_eq!(notes(|| drop(lock.write())), SECTION);
    assert_eq!(notes(|| drop(lock.try_write())), SECTION);
    assert_eq!(notes(|| drop(lock.try_write_until(soon))), SECTION);
    assert_eq!(notes(|| drop(lock.write_arc())), SECTION);
    assert_eq!(notes(|| lock.with_write(|_| ())), SECTION);
    assert_eq!(notes(|| drop(lock.read())), SHARE);
    assert_eq!(notes(|| drop(lock.try_read())), SHARE);
    assert_eq!(notes(|| drop(lock.try_read_until(soon))), SHARE);
    assert_eq!(notes(|| drop(lock.read_arc())), SHARE);
    assert_eq!(notes(|| lock.with_read(|_| ())), SHARE);
}

#[test]
fn of_shares_that_change() {
    let lock = RwLock::from_raw(Noted, 0_u32);
    let soon = Duration::MAX;
    let downgraded =
        ["acquire", "acquired", "releasing", "downgrade", "releasing", "release share"];
    let upgraded = ["share", "acquired", "upgrade", "acquired", "releasing", "release"];
    assert_eq!(notes(|| drop(RwLockWriteGuard::downgrade(lock.write()))), downgraded);
    let upgradable = || drop(RwLockWriteGuard::downgrade_to_upgradable(lock.write()));
    assert_eq!(notes(upgradable), downgraded);
    assert_eq!(notes(|| drop(lock.upgradable_read())), SHARE);
    assert_eq!(notes(|| drop(lock.try_upgradable_read())), SHARE);
    assert_eq!(notes(|| drop(lock.try_upgradable_read_until(soon))), SHARE);
    let upgrade = || drop(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()));
    assert_eq!(notes(upgrade), upgraded);
    let tried = || drop(RwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read()));
    assert_eq!(notes(tried), upgraded);
    let timed = || drop(RwLockUpgradableReadGuard::try_upgrade_until(lock.upgradable_read(), soon));
    assert_eq!(notes(timed), upgraded);
}
