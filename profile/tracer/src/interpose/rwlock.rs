//! `pthread_rwlock_*`.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

use super::passing::{locks, unlocks};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_timedrdlock(lock: *mut c_void, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int;
            fn pthread_rwlock_timedwrlock(lock: *mut c_void, deadline: *const timespec) -> c_int;
            fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
        }
    };
}

functions!(entry);

// The lowest bit of the lock's word says whether readers or writers are next. All other bits are 0
// if no thread holds the lock or waits for it.
locks! {
    fn pthread_rwlock_rdlock if word & -2 == 0;
    fn pthread_rwlock_wrlock if word & -2 == 0;
}
unlocks! { fn pthread_rwlock_unlock; }

mod real {
    use super::*;
    functions!(real);

    real! {
        fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int;
        fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int;
        fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int;
    }
}

mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::interpose::{Got, UNTRIED, acquire, release, unknown};
    use crate::section::Caller;

    /// Acquires the lock, for reading if `shared`, by `block`, a call that may wait. A call with a
    /// deadline is not preceded by a try, since it must refuse an invalid deadline even if the lock
    /// is free.
    unsafe fn lock(
        op: Op,
        shared: bool,
        lock: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let attempt = || {
                let tried = if shared {
                    real::pthread_rwlock_tryrdlock(lock)
                } else {
                    real::pthread_rwlock_trywrlock(lock)
                };
                (tried == 0).then_some(0)
            };
            let timed = matches!(op, Op::RwlockTimedRead | Op::RwlockTimedWrite);
            let attempt = (!timed).then_some(attempt);
            acquire((op, lock.addr(), shared), caller, attempt, || 0, block, Got::if_zero)
        }
    }

    macro_rules! locking {
        ($($name:ident($($arg:ident: $type:ty),*): $op:ident, $shared:literal;)*) => {
            $(
                pub unsafe extern "C-unwind" fn $name(
                    object: *mut c_void,
                    $($arg: $type,)*
                    caller: Caller,
                ) -> c_int {
                    // SAFETY: the program's own call.
                    unsafe {
                        lock(Op::$op, $shared, object, caller, || real::$name(object, $($arg),*))
                    }
                }
            )*
        };
    }

    locking! {
        pthread_rwlock_rdlock(): RwlockRead, true;
        pthread_rwlock_timedrdlock(deadline: *const timespec): RwlockTimedRead, true;
        pthread_rwlock_clockrdlock(clock: clockid_t, deadline: *const timespec): RwlockTimedRead, true;
        pthread_rwlock_wrlock(): RwlockWrite, false;
        pthread_rwlock_timedwrlock(deadline: *const timespec): RwlockTimedWrite, false;
        pthread_rwlock_clockwrlock(clock: clockid_t, deadline: *const timespec): RwlockTimedWrite, false;
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_tryrdlock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_rwlock_tryrdlock(lock);
            acquire(
                (Op::RwlockTryRead, lock.addr(), true),
                caller,
                UNTRIED,
                || 0,
                block,
                Got::if_zero,
            )
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_trywrlock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_rwlock_trywrlock(lock);
            acquire(
                (Op::RwlockTryWrite, lock.addr(), false),
                caller,
                UNTRIED,
                || 0,
                block,
                Got::if_zero,
            )
        }
    }

    pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(lock.addr(), caller, unknown, || real::pthread_rwlock_unlock(lock)) }
    }
}
