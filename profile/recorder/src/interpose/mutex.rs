//! `pthread_mutex_*`.
//!
//! Locking tries first, which shows whether the mutex was contended. A try succeeds and fails as
//! locking does, with one exception: if the thread holds the mutex itself, a try says "busy", and
//! the lock call that follows reports the deadlock. Two kinds of mutex can't be tried first. If a
//! robust mutex can't be recovered, the first call says so and leaves it locked. A mutex with a
//! priority ceiling may refuse the first call and not the second. For these kinds, the duration of
//! the call decides whether the mutex was contended.
//!
//! A try takes an atomic instruction. In a process with a single thread, the C library locks
//! without one. So there a free mutex is locked without a try: it can't be contended.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::entry;

entry! {
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void) -> c_int;
}

mod real {
    use super::*;
    pub use syncline_interpose::{pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock};

    syncline_interpose::real! {
        fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
        fn pthread_mutex_clocklock(mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
        fn pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void) -> c_int;
    }
}

mod imp {
    use libc::{EBUSY, EOWNERDEAD};
    use syncline_recording::Op;

    use super::*;
    use crate::count::{
        Caller, Outcome, acquired, counted, lock_untried, refused, release, spot, wait_for_lock,
    };
    use crate::single::is_single_threaded;

    /// Whether a mutex is robust or has a priority ceiling. Its kind lies at an offset that static
    /// initialisers have made part of the ABI.
    #[inline(always)]
    unsafe fn is_special(mutex: *mut c_void) -> bool {
        const KIND: usize = 16;
        const ROBUST: c_int = 0x10;
        const PRIO_PROTECT: c_int = 0x40;
        // SAFETY: the program's mutex.
        unsafe { *mutex.byte_add(KIND).cast::<c_int>() & (ROBUST | PRIO_PROTECT) != 0 }
    }

    /// Whether no thread holds a mutex that is not special. The word by which the C library locks
    /// it lies at an offset that static initialisers have made part of the ABI.
    #[inline(always)]
    unsafe fn is_free(mutex: *mut c_void) -> bool {
        // SAFETY: the program's mutex, in a process without another thread.
        unsafe { mutex.cast::<c_int>().read() == 0 }
    }

    /// Tries to lock the mutex, and waits if it is held.
    #[inline(always)]
    unsafe fn lock(
        op: Op,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program calls with a mutex, and `caller` is the entry's.
        unsafe {
            if is_special(mutex) {
                return lock_untried(op, mutex as usize, caller, block, Outcome::of);
            }
            let spot = spot(op, mutex as usize, caller);
            if is_single_threaded() && is_free(mutex) {
                return match block() {
                    0 => acquired(spot, op, mutex as usize, caller),
                    error => error,
                };
            }
            match real::pthread_mutex_trylock(mutex) {
                0 => acquired(spot, op, mutex as usize, caller),
                EBUSY => wait_for_lock(op, mutex as usize, caller, block, Outcome::of),
                _ => block(),
            }
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_lock(
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexLock, mutex, caller, move || real::pthread_mutex_lock(mutex)) }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_trylock(
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let spot = spot(Op::MutexTrylock, mutex as usize, caller);
            let result = real::pthread_mutex_trylock(mutex);
            match result {
                0 => return acquired(spot, Op::MutexTrylock, mutex as usize, caller),
                EOWNERDEAD => _ = acquired(spot, Op::MutexTrylock, mutex as usize, caller),
                EBUSY => refused(spot, Op::MutexTrylock, mutex as usize, caller),
                _ => {}
            }
            result
        }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        let block = move || {
            // SAFETY: the program's own call.
            unsafe { real::pthread_mutex_timedlock(mutex, deadline) }
        };
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexTimedlock, mutex, caller, block) }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
        mutex: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        let block = move || {
            // SAFETY: the program's own call.
            unsafe { real::pthread_mutex_clocklock(mutex, clock, deadline) }
        };
        if clock != libc::CLOCK_REALTIME && clock != libc::CLOCK_MONOTONIC {
            return block();
        }
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexTimedlock, mutex, caller, block) }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut c_void, _: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(mutex as usize, |lock| real::pthread_mutex_unlock(lock as *mut c_void)) }
    }

    pub unsafe extern "C-unwind" fn pthread_mutex_init(
        mutex: *mut c_void,
        attributes: *const c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            counted(
                Op::MutexInit,
                mutex as usize,
                caller,
                real::pthread_mutex_init(mutex, attributes),
            )
        }
    }
}
