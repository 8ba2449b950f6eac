//! C11's `mtx_*` and `cnd_*`. glibc does not implement them by calls of `pthread_*`, so they are
//! interposed too. The mutexes and condition variables are the same objects.

use core::ffi::{c_int, c_void};

use libc::timespec;
use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn mtx_lock(mutex: *mut c_void) -> c_int;
            fn mtx_trylock(mutex: *mut c_void) -> c_int;
            fn mtx_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
            fn mtx_unlock(mutex: *mut c_void) -> c_int;
            fn cnd_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int;
            fn cnd_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
}

mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::interpose::{Got, UNTRIED, acquire, release, unknown, wait};
    use crate::section::Caller;

    const THRD_SUCCESS: c_int = 0;

    fn got(result: c_int) -> Got {
        if result == THRD_SUCCESS { Got::Yes } else { Got::No }
    }

    unsafe fn lock(
        op: Op,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let attempt = || (real::mtx_trylock(mutex) == THRD_SUCCESS).then_some(THRD_SUCCESS);
            acquire((op, mutex.addr(), false), caller, Some(attempt), || 0, block, got)
        }
    }

    pub unsafe extern "C-unwind" fn mtx_lock(mutex: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexLock, mutex, caller, || real::mtx_lock(mutex)) }
    }

    pub unsafe extern "C-unwind" fn mtx_timedlock(
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexTimedlock, mutex, caller, || real::mtx_timedlock(mutex, deadline)) }
    }

    pub unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::mtx_trylock(mutex);
            acquire((Op::MutexTrylock, mutex.addr(), false), caller, UNTRIED, || 0, block, got)
        }
    }

    pub unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(mutex.addr(), caller, unknown, || real::mtx_unlock(mutex)) }
    }

    pub unsafe extern "C-unwind" fn cnd_wait(
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { wait(mutex.addr(), caller, || real::cnd_wait(cond, mutex)) }
    }

    pub unsafe extern "C-unwind" fn cnd_timedwait(
        cond: *mut c_void,
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { wait(mutex.addr(), caller, || real::cnd_timedwait(cond, mutex, deadline)) }
    }
}
