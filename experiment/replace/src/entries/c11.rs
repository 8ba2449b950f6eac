//! C11's `mtx_*` and `cnd_*`, which the C library doesn't route through `pthread_*`. The objects
//! are the same, and are initialised by the C library's own `mtx_init` and `cnd_init`; only the
//! numeric values of the results differ.

use core::ffi::c_int;

use libc::{CLOCK_REALTIME, EBUSY, ENOMEM, ETIMEDOUT, timespec};

use super::mutex::pthread_mutex_destroy;
use crate::choice::MUTEXES;
use crate::cond::{self, Cond};
use crate::mutex::Mutex;

const THRD_SUCCESS: c_int = 0;
const THRD_BUSY: c_int = 1;
const THRD_ERROR: c_int = 2;
const THRD_NOMEM: c_int = 3;
const THRD_TIMEDOUT: c_int = 4;

fn outcome(error: c_int) -> c_int {
    match error {
        0 => THRD_SUCCESS,
        EBUSY => THRD_BUSY,
        ENOMEM => THRD_NOMEM,
        ETIMEDOUT => THRD_TIMEDOUT,
        _ => THRD_ERROR,
    }
}

macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $ret:ty)? = $call:expr;)*) => {
        $(
            /// # Safety
            /// Same requirements as C's function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $ret)? {
                // SAFETY: the program's own call.
                unsafe { $call }
            }
        )*
    };
}

entries! {
    mtx_lock(m: *const Mutex) -> c_int = outcome((MUTEXES.get().lock)(m));
    mtx_trylock(m: *const Mutex) -> c_int = outcome((MUTEXES.get().try_lock)(m));
    mtx_timedlock(m: *const Mutex, until: *const timespec) -> c_int =
        outcome((MUTEXES.get().lock_until)(m, CLOCK_REALTIME, until));
    mtx_unlock(m: *const Mutex) -> c_int = outcome((MUTEXES.get().unlock)(m));
    mtx_destroy(m: *const Mutex) = { pthread_mutex_destroy(m); };
    cnd_wait(c: *const Cond, m: *const Mutex) -> c_int =
        outcome(cond::pthread_cond_wait(c, m));
    cnd_timedwait(c: *const Cond, m: *const Mutex, until: *const timespec) -> c_int =
        outcome(cond::pthread_cond_timedwait(c, m, until));
    cnd_signal(c: *const Cond) -> c_int = outcome(cond::pthread_cond_signal(c));
    cnd_broadcast(c: *const Cond) -> c_int = outcome(cond::pthread_cond_broadcast(c));
    cnd_destroy(c: *const Cond) = { cond::pthread_cond_destroy(c); };
}
