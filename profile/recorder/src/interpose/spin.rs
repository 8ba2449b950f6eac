//! `pthread_spin_*`.

use core::ffi::{c_int, c_void};

use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn pthread_spin_lock(lock: *mut c_void) -> c_int;
            fn pthread_spin_trylock(lock: *mut c_void) -> c_int;
            fn pthread_spin_unlock(lock: *mut c_void) -> c_int;
            fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
}

mod imp {
    use libc::EBUSY;
    use syncline_recording::Op;

    use super::*;
    use crate::count::{Caller, Outcome, acquired, counted, refused, release, spot, wait_for_lock};

    pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let spot = spot(Op::SpinLock, lock as usize, caller);
            if real::pthread_spin_trylock(lock) == 0 {
                return acquired(spot, Op::SpinLock, lock as usize, caller);
            }
            let block = move || real::pthread_spin_lock(lock);
            wait_for_lock(Op::SpinLock, lock as usize, caller, block, Outcome::of)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_spin_trylock(
        lock: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let spot = spot(Op::SpinTrylock, lock as usize, caller);
            let result = real::pthread_spin_trylock(lock);
            match result {
                0 => return acquired(spot, Op::SpinTrylock, lock as usize, caller),
                EBUSY => refused(spot, Op::SpinTrylock, lock as usize, caller),
                _ => {}
            }
            result
        }
    }

    pub unsafe extern "C-unwind" fn pthread_spin_unlock(lock: *mut c_void, _: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(lock as usize, |lock| real::pthread_spin_unlock(lock as *mut c_void)) }
    }

    pub unsafe extern "C-unwind" fn pthread_spin_init(
        lock: *mut c_void,
        shared: c_int,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            counted(Op::SpinInit, lock as usize, caller, real::pthread_spin_init(lock, shared))
        }
    }
}
