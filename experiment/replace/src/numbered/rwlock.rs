//! The functions for reader-writer locks under a policy: each calls the function of the lock whose
//! number the object stores.

use core::sync::atomic::Ordering::Relaxed;

use crate::policy::{Moment, NUMBERS, RWLOCK, decide};
use crate::report;
use crate::rwlock::{Ops, Rwlock};
use crate::table::Table;

/// The locks that replace reader-writer locks, by number.
pub static RWLOCKS: [Table<Ops>; NUMBERS] = [const { Table::new(&Ops::LEFT) }; NUMBERS];

impl Ops {
    /// The functions that read the object's number.
    pub const NUMBERED: Ops = Ops {
        // SAFETY: the program's own call.
        share: |lock| unsafe { (of(lock).share)(lock) },
        // SAFETY: as above.
        try_share: |lock| unsafe { (of(lock).try_share)(lock) },
        // SAFETY: as above.
        share_until: |lock, clock, time| unsafe { (of(lock).share_until)(lock, clock, time) },
        // SAFETY: as above.
        lock: |lock| unsafe { (of(lock).lock)(lock) },
        // SAFETY: as above.
        try_lock: |lock| unsafe { (of(lock).try_lock)(lock) },
        // SAFETY: as above.
        lock_until: |lock, clock, time| unsafe { (of(lock).lock_until)(lock, clock, time) },
        // SAFETY: as above.
        unlock: |lock| unsafe { (of_used(lock).unlock)(lock) },
        // SAFETY: as above.
        destroy: |lock| unsafe {
            let result = (of_used(lock).destroy)(lock);
            // The memory may be used again as a lock that is initialised by zeros.
            if result == 0 {
                (*lock).choice.store(0, Relaxed);
            }
            result
        },
        made: |lock| {
            // SAFETY: as above.
            choose(unsafe { &*lock }, Moment::Created);
        },
        replaces: true,
        for_writers: None,
    };
}

/// The functions of a lock that is about to be acquired.
#[inline(always)]
unsafe fn of(lock: *const Rwlock) -> &'static Ops {
    // SAFETY: our caller's promise.
    let lock = unsafe { &*lock };
    // Relaxed, like all accesses here: in a fresh object every lock is free, so the number orders
    // nothing.
    match lock.choice.load(Relaxed) {
        0 => choose(lock, Moment::Acquired),
        number => by(number).suited_to(lock),
    }
}

/// The functions of a lock that is not about to be acquired; the C library's if it stores no
/// number.
#[inline(always)]
unsafe fn of_used(lock: *const Rwlock) -> &'static Ops {
    // SAFETY: our caller's promise.
    let lock = unsafe { &*lock };
    match lock.choice.load(Relaxed) {
        0 => &Ops::LEFT,
        number => by(number).suited_to(lock),
    }
}

#[inline(always)]
fn by(number: u16) -> &'static Ops {
    RWLOCKS[usize::from(number) % RWLOCKS.len()].get()
}

/// Chooses a lock, unless another thread is first, and returns its functions. An object that
/// processes share stores no number.
#[cold]
fn choose(lock: &Rwlock, moment: Moment) -> &'static Ops {
    if lock.is_shared() {
        if matches!(moment, Moment::Acquired) {
            report::left_to_libc(true);
        }
        return &Ops::LEFT;
    }
    let number = match decide(RWLOCK, core::ptr::from_ref(lock).addr(), moment) {
        0 => return &Ops::LEFT,
        number => number,
    };
    let chosen = lock.choice.compare_exchange(0, number, Relaxed, Relaxed);
    by(chosen.map_or_else(|theirs| theirs, |_| number)).suited_to(lock)
}
