//! The functions that are in effect before a lock is chosen: each chooses a lock, and calls that
//! lock's function.

use super::{MUTEXES, RWLOCKS, SPINLOCKS, choose};
use crate::mutex;
use crate::rwlock::{self, Rwlock};
use crate::spin;

fn mutexes() -> &'static mutex::Ops {
    choose();
    MUTEXES.get()
}

fn spinlocks() -> &'static spin::Ops {
    choose();
    SPINLOCKS.get()
}

fn rwlocks(lock: *const Rwlock) -> &'static rwlock::Ops {
    choose();
    // SAFETY: the program's own call.
    RWLOCKS.get().suited_to(unsafe { &*lock })
}

// SAFETY, of all blocks here: the program's own call.

impl mutex::Ops {
    /// The functions that choose a lock first.
    pub const FIRST: mutex::Ops = mutex::Ops {
        // SAFETY: see above.
        lock: |mutex| unsafe { (mutexes().lock)(mutex) },
        // SAFETY: see above.
        try_lock: |mutex| unsafe { (mutexes().try_lock)(mutex) },
        // SAFETY: see above.
        lock_until: |mutex, clock, time| unsafe { (mutexes().lock_until)(mutex, clock, time) },
        // SAFETY: see above.
        unlock: |mutex| unsafe { (mutexes().unlock)(mutex) },
        // SAFETY: see above.
        destroy: |mutex| unsafe { (mutexes().destroy)(mutex) },
        // SAFETY: see above.
        is_ours: |mutex| unsafe { (mutexes().is_ours)(mutex) },
        // SAFETY: see above.
        made: |mutex| unsafe { (mutexes().made)(mutex) },
        ..mutex::Ops::LEFT
    };
}

impl spin::Ops {
    /// The functions that choose a lock first.
    pub const FIRST: spin::Ops = spin::Ops {
        // SAFETY: see above.
        init: |word, shared| unsafe { (spinlocks().init)(word, shared) },
        // SAFETY: see above.
        destroy: |word| unsafe { (spinlocks().destroy)(word) },
        // SAFETY: see above.
        lock: |word| unsafe { (spinlocks().lock)(word) },
        // SAFETY: see above.
        try_lock: |word| unsafe { (spinlocks().try_lock)(word) },
        // SAFETY: see above.
        unlock: |word| unsafe { (spinlocks().unlock)(word) },
        make: |_, _| false,
    };
}

impl rwlock::Ops {
    /// The functions that choose a lock first.
    pub const FIRST: rwlock::Ops = rwlock::Ops {
        // SAFETY: see above.
        share: |lock| unsafe { (rwlocks(lock).share)(lock) },
        // SAFETY: see above.
        try_share: |lock| unsafe { (rwlocks(lock).try_share)(lock) },
        // SAFETY: see above.
        share_until: |lock, clock, time| unsafe { (rwlocks(lock).share_until)(lock, clock, time) },
        // SAFETY: see above.
        lock: |lock| unsafe { (rwlocks(lock).lock)(lock) },
        // SAFETY: see above.
        try_lock: |lock| unsafe { (rwlocks(lock).try_lock)(lock) },
        // SAFETY: see above.
        lock_until: |lock, clock, time| unsafe { (rwlocks(lock).lock_until)(lock, clock, time) },
        // SAFETY: see above.
        unlock: |lock| unsafe { (rwlocks(lock).unlock)(lock) },
        // SAFETY: see above.
        destroy: |lock| unsafe { (rwlocks(lock).destroy)(lock) },
        // SAFETY: see above.
        made: |lock| unsafe { (rwlocks(lock).made)(lock) },
        replaces: false,
        for_writers: None,
    };
}
