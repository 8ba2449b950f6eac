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

/// What can be done with a reader-writer lock.
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
    /// It was initialised.
    pub made: unsafe fn(*const Rwlock),
    /// Whether a lock replaces these at all.
    pub replaces: bool,
    /// Those for an object that shall prefer writers, if not these.
    pub for_writers: Option<&'static Ops>,
}

/// The requirements on a lock that replaces the C library's.
pub trait Suited: TrySharedLock<Memory = Own, Node = (), SharedNode = ()> {}
impl<L: TrySharedLock<Memory = Own, Node = (), SharedNode = ()>> Suited for L {}

impl Ops {
    /// With a lock of the catalogue.
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

    /// A copy in which [`CompactRw`] replaces objects that shall prefer writers.
    pub const fn but_for_writers(self) -> Ops {
        const COMPACT: Ops = Ops::of::<CompactRw<Park, Own>, mutex::Timed, Timed>();
        Ops { for_writers: Some(&COMPACT), ..self }
    }

    /// Those of the C library.
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

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`. The other two kinds are one to the C library.
const PREFER_WRITER_NONRECURSIVE: u32 = 2;

static LARGE: Large = Large::new();

impl Ops {
    /// These, or those for an object that shall prefer writers.
    #[inline(always)]
    pub fn suited_to(&'static self, lock: &Rwlock) -> &'static Ops {
        match self.for_writers {
            Some(others) if lock.prefers_writers() => others,
            _ => self,
        }
    }
}

impl Rwlock {
    /// Whether a writer that waits shall keep new readers out.
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

    /// Whether this thread is the writer inside.
    fn is_mine(&self) -> bool {
        // Relaxed: exact for the thread that asks about itself.
        self.writer.load(Relaxed) == this_thread()
    }

    /// Whether a writer has it since before a fork, and its queue is that of another process.
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

/// The lock, if it is replaced.
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

/// Like [`find`], for a thread that is about to acquire it: counts a lock that isn't replaced.
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

/// What follows a writer's acquisition.
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

/// Acquires until a deadline: at once if it is free, whatever the time is, or else by `until`.
unsafe fn wait(
    lock: &Rwlock,
    (clock, time): (clockid_t, *const timespec),
    attempt: impl FnOnce() -> bool,
    until: impl FnOnce(Duration) -> bool,
) -> c_int {
    // SAFETY: see above. The C library refuses what is no time even if the lock is free.
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
            // Release: pairs with the Acquire in `is_past`: the next thread finds a fresh lock.
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
        // The C library doesn't notice a lock that is still held; it is left as it is.
        if found.try_acquire(&()) {
            found.release(&());
            shown.room.clear::<L>(&LARGE);
        }
    }
    0
}
