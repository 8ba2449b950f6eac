//! The behaviour that POSIX requires of a reader-writer lock, over a lock `L` of the catalogue.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::time::Duration;

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ETIMEDOUT, clockid_t, timespec};
use syncline::lock::{CompactRw, TrySharedLock};
use syncline::wait::Park;

use super::layout::Rwlock;
use super::real;
use super::until::{ShareUntil, Timed};
use crate::memory::Own;
use crate::mutex::{self, NEVER, Until, poll};
use crate::slot::Large;
use crate::tls::this_thread;
use crate::{deadline, generation, report};

type Call = unsafe fn(*const Rwlock) -> c_int;
type CallUntil = unsafe fn(*const Rwlock, clockid_t, *const timespec) -> c_int;

/// The operations on a reader-writer lock.
#[derive(Clone, Copy)]
pub struct Ops {
    pub share: Call,
    pub try_share: Call,
    pub share_until: CallUntil,
    pub lock: Call,
    pub try_lock: Call,
    pub lock_until: CallUntil,
    pub unlock: Call,
    pub destroy: Call,
    /// Called after the lock was initialised.
    pub made: unsafe fn(*const Rwlock),
    /// Whether a lock replaces reader-writer locks at all.
    pub replaces: bool,
    /// The operations for objects that require that writers are preferred; `None` if they are the
    /// same.
    pub for_writers: Option<&'static Ops>,
}

/// The requirements on a lock that replaces the C library's.
pub trait Suited: TrySharedLock<Memory = Own, Node = (), SharedNode = ()> {}
impl<L: TrySharedLock<Memory = Own, Node = (), SharedNode = ()>> Suited for L {}

impl Ops {
    /// The operations by a lock of the catalogue.
    pub const fn of<L: Suited, U: Until<L>, S: ShareUntil<L>>() -> Ops {
        Ops {
            share: share::<L>,
            try_share: try_share::<L>,
            share_until: share_until::<L, S>,
            lock: lock::<L>,
            try_lock: try_lock::<L>,
            lock_until: lock_until::<L, U>,
            unlock: unlock::<L>,
            destroy: destroy::<L>,
            made: |_| (),
            replaces: true,
            for_writers: None,
        }
    }

    /// A copy in which [`CompactRw`] replaces objects that require that writers are preferred.
    pub const fn but_for_writers(self) -> Ops {
        const COMPACT: Ops = Ops::of::<CompactRw<Park, Own>, mutex::Timed, Timed>();
        Ops { for_writers: Some(&COMPACT), ..self }
    }

    /// The operations of the C library.
    pub const LEFT: Ops = Ops {
        share: real::pthread_rwlock_rdlock,
        try_share: real::pthread_rwlock_tryrdlock,
        share_until: real::pthread_rwlock_clockrdlock,
        lock: real::pthread_rwlock_wrlock,
        try_lock: real::pthread_rwlock_trywrlock,
        lock_until: real::pthread_rwlock_clockwrlock,
        unlock: real::pthread_rwlock_unlock,
        destroy: real::pthread_rwlock_destroy,
        made: |_| (),
        replaces: false,
        for_writers: None,
    };
}

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`. The C library treats the other two kinds alike.
const PREFER_WRITER_NONRECURSIVE: u32 = 2;

static LARGE: Large = Large::new();

impl Ops {
    /// The operations that suit an object: these, or those for objects that prefer writers.
    #[inline(always)]
    pub fn suited_to(&'static self, lock: &Rwlock) -> &'static Ops {
        match self.for_writers {
            Some(others) if lock.prefers_writers() => others,
            _ => self,
        }
    }
}

impl Rwlock {
    /// Whether the object requires that waiting writers keep new readers out.
    #[inline(always)]
    fn prefers_writers(&self) -> bool {
        // Relaxed: it never changes while the lock is used.
        self.preference.load(Relaxed) == PREFER_WRITER_NONRECURSIVE
    }

    /// Whether processes share it, so that it is left to the C library.
    pub fn is_shared(&self) -> bool {
        // Relaxed: it never changes while the lock is used.
        self.shared.load(Relaxed) != 0
    }

    /// Whether this thread holds the lock as a writer.
    fn is_mine(&self) -> bool {
        // Relaxed: a thread always sees its own last store, and no other thread stores its number.
        self.writer.load(Relaxed) == this_thread()
    }

    /// Whether a writer has held it since before a fork, so that its queue belongs to threads of
    /// another process.
    #[inline(always)]
    fn is_stranded(&self) -> bool {
        generation::is_past(&self.generation)
    }

    fn outwait_stranded(&self) {
        if self.is_stranded() {
            poll(NEVER, || !self.is_stranded());
        }
    }
}

/// The replacing lock; `None` if the object is not replaced.
///
/// # Safety
///
/// The program's lock.
#[inline(always)]
unsafe fn find<'a, L: Suited>(lock: *const Rwlock) -> Option<(&'a Rwlock, &'a L)> {
    // SAFETY: our caller's promise.
    let shown = unsafe { &*lock };
    if shown.is_shared() {
        return None;
    }
    Some((shown, shown.room.get::<L>(&LARGE)?))
}

/// Like [`find`], for a thread that is about to acquire the lock: an acquisition of a lock that
/// isn't replaced is counted.
///
/// # Safety
///
/// The program's lock.
#[inline(always)]
unsafe fn find_to_acquire<'a, L: Suited>(lock: *const Rwlock) -> Option<(&'a Rwlock, &'a L)> {
    // SAFETY: our caller's promise.
    unsafe {
        let found = find::<L>(lock);
        if found.is_none() {
            report::left_to_libc((*lock).is_shared());
        }
        found
    }
}

/// Notes the owner after a writer's acquisition.
fn entered(lock: &Rwlock) -> c_int {
    lock.writer.store(this_thread(), Relaxed);
    lock.generation.store(generation::now(), Relaxed);
    0
}

// SAFETY, of all blocks below: the program's own call. Nodes have no size.

unsafe fn share<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_rdlock(lock);
        };
        if shown.is_mine() {
            return EDEADLK;
        }
        shown.outwait_stranded();
        if lock.acquire_shared_if_counted(&()) { 0 } else { EAGAIN }
    }
}

unsafe fn try_share<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_tryrdlock(lock);
        };
        if !shown.is_stranded() && lock.try_acquire_shared(&()) { 0 } else { EBUSY }
    }
}

unsafe fn share_until<L: Suited, S: ShareUntil<L>>(
    lock: *const Rwlock,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_clockrdlock(lock, clock, time);
        };
        let attempt = || lock.try_acquire_shared(&());
        wait(shown, (clock, time), attempt, |deadline| S::acquire(lock, deadline))
    }
}

unsafe fn lock<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_wrlock(lock);
        };
        if shown.is_mine() {
            return EDEADLK;
        }
        shown.outwait_stranded();
        lock.acquire(&());
        entered(shown)
    }
}

unsafe fn try_lock<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_trywrlock(lock);
        };
        if !shown.is_stranded() && lock.try_acquire(&()) { entered(shown) } else { EBUSY }
    }
}

unsafe fn lock_until<L: Suited, U: Until<L>>(
    lock: *const Rwlock,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find_to_acquire::<L>(lock) else {
            return real::pthread_rwlock_clockwrlock(lock, clock, time);
        };
        let attempt = || lock.try_acquire(&());
        match wait(shown, (clock, time), attempt, |deadline| U::acquire(lock, &(), deadline)) {
            0 => entered(shown),
            error => error,
        }
    }
}

/// Acquires the lock until a deadline. A free lock is acquired by `attempt`, even if the deadline
/// has passed; otherwise `until` waits.
unsafe fn wait(
    lock: &Rwlock,
    (clock, time): (clockid_t, *const timespec),
    attempt: impl FnOnce() -> bool,
    until: impl FnOnce(Duration) -> bool,
) -> c_int {
    // SAFETY: see above. The C library refuses an invalid time even if the lock is free.
    if !unsafe { deadline::is_time(clock, time) } {
        return EINVAL;
    }
    if lock.is_mine() {
        return EDEADLK;
    }
    if !lock.is_stranded() && attempt() {
        return 0;
    }
    // SAFETY: see above.
    let deadline = unsafe { deadline::read(clock, time) };
    let free = !lock.is_stranded() || poll(deadline, || !lock.is_stranded());
    if free && until(deadline) { 0 } else { ETIMEDOUT }
}

unsafe fn unlock<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, lock)) = find::<L>(lock) else {
            return real::pthread_rwlock_unlock(lock);
        };
        if !shown.is_mine() {
            lock.release_shared(&());
            return 0;
        }
        shown.writer.store(0, Relaxed);
        if shown.generation.load(Relaxed) != generation::now() {
            // No other thread from before the fork exists in the child.
            shown.room.forget::<L>();
            // Release pairs with the Acquire in `is_past`: the next thread finds a fresh lock.
            shown.generation.store(0, Release);
        } else {
            shown.generation.store(0, Relaxed);
            lock.release(&());
        }
    }
    0
}

unsafe fn destroy<L: Suited>(lock: *const Rwlock) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((shown, found)) = find::<L>(lock) else {
            return real::pthread_rwlock_destroy(lock);
        };
        // A lock that is still held is left as it is: the C library doesn't report that either.
        if found.try_acquire(&()) {
            found.release(&());
            shown.room.clear::<L>(&LARGE);
        }
    }
    0
}
