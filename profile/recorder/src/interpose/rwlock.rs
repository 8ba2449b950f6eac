//! `pthread_rwlock_*`. Locking tries first, as for a mutex.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_timedrdlock(lock: *mut c_void, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_timedwrlock(lock: *mut c_void, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_init(lock: *mut c_void, attributes: *const c_void) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
}

mod imp {
    use libc::{CLOCK_REALTIME, EBUSY};
    use syncline_recording::Op;

    use super::*;
    use crate::count::{Caller, Outcome, acquired, counted, refused, release, spot, wait_for_lock};
    use crate::interpose::acceptable;

    type Function = unsafe fn(*mut c_void) -> c_int;

    /// Tries to lock, and waits if the lock is held.
    #[inline(always)]
    unsafe fn lock(
        op: Op,
        lock: *mut c_void,
        caller: Caller,
        attempt: Function,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program calls with a lock, and `caller` is the entry's.
        unsafe {
            let spot = spot(op, lock as usize, caller);
            match attempt(lock) {
                0 => acquired(spot, op, lock as usize, caller),
                EBUSY => wait_for_lock(op, lock as usize, caller, block, Outcome::of),
                _ => block(),
            }
        }
    }

    unsafe fn try_lock(op: Op, lock: *mut c_void, caller: Caller, attempt: Function) -> c_int {
        // SAFETY: as in `lock`.
        unsafe {
            let spot = spot(op, lock as usize, caller);
            let result = attempt(lock);
            match result {
                0 => return acquired(spot, op, lock as usize, caller),
                EBUSY => refused(spot, op, lock as usize, caller),
                _ => {}
            }
            result
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_rdlock(l: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            lock(Op::RwlockRead, l, caller, real::pthread_rwlock_tryrdlock, move || {
                real::pthread_rwlock_rdlock(l)
            })
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_wrlock(l: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            lock(Op::RwlockWrite, l, caller, real::pthread_rwlock_trywrlock, move || {
                real::pthread_rwlock_wrlock(l)
            })
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_tryrdlock(
        l: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { try_lock(Op::RwlockTryRead, l, caller, real::pthread_rwlock_tryrdlock) }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_trywrlock(
        l: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { try_lock(Op::RwlockTryWrite, l, caller, real::pthread_rwlock_trywrlock) }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_timedrdlock(
        l: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::pthread_rwlock_timedrdlock(l, deadline);
            if !acceptable(CLOCK_REALTIME, deadline) {
                return block();
            }
            lock(Op::RwlockTimedRead, l, caller, real::pthread_rwlock_tryrdlock, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_timedwrlock(
        l: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::pthread_rwlock_timedwrlock(l, deadline);
            if !acceptable(CLOCK_REALTIME, deadline) {
                return block();
            }
            lock(Op::RwlockTimedWrite, l, caller, real::pthread_rwlock_trywrlock, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_clockrdlock(
        l: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::pthread_rwlock_clockrdlock(l, clock, deadline);
            if !acceptable(clock, deadline) {
                return block();
            }
            lock(Op::RwlockTimedRead, l, caller, real::pthread_rwlock_tryrdlock, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_clockwrlock(
        l: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::pthread_rwlock_clockwrlock(l, clock, deadline);
            if !acceptable(clock, deadline) {
                return block();
            }
            lock(Op::RwlockTimedWrite, l, caller, real::pthread_rwlock_trywrlock, block)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(l: *mut c_void, _: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(l as usize, |lock| real::pthread_rwlock_unlock(lock as *mut c_void)) }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_init(
        l: *mut c_void,
        attributes: *const c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            counted(Op::RwlockInit, l as usize, caller, real::pthread_rwlock_init(l, attributes))
        }
    }
}
