//! `pthread_spin_*`.

use core::ffi::{c_int, c_void};

use syncline_interpose::{entry, real};

use super::passing::{locks, unlocks};

entry! {
    fn pthread_spin_trylock(lock: *mut c_void) -> c_int;
}

// A spinlock is free if its word is 1.
locks! { fn pthread_spin_lock if word & -1 == 1; }
unlocks! { fn pthread_spin_unlock; }

mod real {
    use super::*;

    real! {
        fn pthread_spin_lock(lock: *mut c_void) -> c_int;
        fn pthread_spin_trylock(lock: *mut c_void) -> c_int;
        fn pthread_spin_unlock(lock: *mut c_void) -> c_int;
    }
}

mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::interpose::{Got, UNTRIED, acquire, release, unknown};
    use crate::section::Caller;

    pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let attempt = || (real::pthread_spin_trylock(lock) == 0).then_some(0);
            let block = || real::pthread_spin_lock(lock);
            acquire(
                (Op::SpinLock, lock.addr(), false),
                caller,
                Some(attempt),
                || 0,
                block,
                Got::if_zero,
            )
        }
    }

    pub unsafe extern "C-unwind" fn pthread_spin_trylock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = || real::pthread_spin_trylock(lock);
            acquire(
                (Op::SpinTrylock, lock.addr(), false),
                caller,
                UNTRIED,
                || 0,
                block,
                Got::if_zero,
            )
        }
    }

    pub unsafe extern "C-unwind" fn pthread_spin_unlock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(lock.addr(), caller, unknown, || real::pthread_spin_unlock(lock)) }
    }
}
