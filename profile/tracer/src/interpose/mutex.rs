//! `pthread_mutex_*`.
//!
//! Mutexes of two kinds are locked without a try first. A try of a robust mutex that can't be
//! recovered reports this, but leaves the mutex locked. A mutex with a priority ceiling may refuse
//! the try even though it would not refuse the call.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::entry;

use super::passing::{locks, unlocks};

// A mutex whose first word is 0 is free, whatever its kind. Mutexes with a priority ceiling keep
// the ceiling in this word, so it is not 0 and they take the slow path.
locks! { fn pthread_mutex_lock if word & -1 == 0; }
unlocks! { fn pthread_mutex_unlock; }

entry! {
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
}

mod real {
    use super::*;
    pub use syncline_interpose::{pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock};

    syncline_interpose::real! {
        fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
        fn pthread_mutex_clocklock(mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
    }
}

mod imp {
    use libc::{EBUSY, EOWNERDEAD};
    use syncline_recording::Op;

    use super::*;
    use crate::interpose::{Got, UNTRIED, acquire, release};
    use crate::section::Caller;

    /// The offset of the owner's thread number in a mutex. This offset and the next one are fixed
    /// by glibc's ABI, since programs contain initialised mutexes.
    const OWNER: usize = 8;
    const KIND: usize = 16;
    /// The value of a mutex's first word while it is held and threads may sleep until its release.
    const LOCKED_AND_WAITED_FOR: u32 = 2;

    unsafe fn is_special(mutex: *mut c_void) -> bool {
        const ROBUST: c_int = 0x10;
        const PRIO_PROTECT: c_int = 0x40;
        // SAFETY: the program's mutex.
        unsafe { *mutex.byte_add(KIND).cast::<c_int>() & (ROBUST | PRIO_PROTECT) != 0 }
    }

    fn got(result: c_int) -> Got {
        if result == 0 || result == EOWNERDEAD { Got::Yes } else { Got::No }
    }

    #[inline(always)]
    unsafe fn lock(
        op: Op,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own mutex and call.
        let attempt = || match unsafe { real::pthread_mutex_trylock(mutex) } {
            EBUSY => None,
            // Any other error is reported by the call itself, which follows.
            0 => Some(0),
            _ => None,
        };
        // SAFETY: the address is that of the program's mutex. The value may be out of date when it
        // is used.
        let holder = || unsafe { mutex.byte_add(OWNER).cast::<u32>().read_volatile() };
        // SAFETY: as above.
        unsafe {
            let attempt = (!is_special(mutex)).then_some(attempt);
            acquire((op, mutex.addr(), false), caller, attempt, holder, block, got)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_lock(
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexLock, mutex, caller, || real::pthread_mutex_lock(mutex)) }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_trylock(
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        let what = (Op::MutexTrylock, mutex.addr(), false);
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_mutex_trylock(mutex);
            acquire(what, caller, UNTRIED, || 0, block, got)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_mutex_timedlock(mutex, deadline);
            lock(Op::MutexTimedlock, mutex, caller, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
        mutex: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_mutex_clocklock(mutex, clock, deadline);
            if clock != libc::CLOCK_REALTIME && clock != libc::CLOCK_MONOTONIC {
                let what = (Op::MutexTimedlock, mutex.addr(), false);
                return acquire(what, caller, UNTRIED, || 0, block, got);
            }
            lock(Op::MutexTimedlock, mutex, caller, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_unlock(
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the address is that of the program's mutex. The value may be out of date when it
        // is used.
        let has_waiters =
            || unsafe { mutex.cast::<u32>().read_volatile() } == LOCKED_AND_WAITED_FOR;
        // SAFETY: the program's own call.
        unsafe { release(mutex.addr(), caller, has_waiters, || real::pthread_mutex_unlock(mutex)) }
    }
}
