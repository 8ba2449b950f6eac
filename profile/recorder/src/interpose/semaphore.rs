//! `sem_*`, unnamed and named.
//!
//! A wait tries first. But a wait is a cancellation point even if the semaphore is positive, and a
//! try is not. So this code checks for cancellation before it tries. The thread that posts need not
//! be the one that waited, so a semaphore has no holder.

use core::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn sem_wait(sem: *mut c_void) -> c_int;
            fn sem_trywait(sem: *mut c_void) -> c_int;
            fn sem_timedwait(sem: *mut c_void, deadline: *const timespec) -> c_int;
            fn sem_clockwait(sem: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
            fn sem_post(sem: *mut c_void) -> c_int;
            fn sem_init(sem: *mut c_void, shared: c_int, value: c_uint) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
    real! {
        fn pthread_testcancel();
    }
}

mod imp {
    use core::sync::atomic::{AtomicU32, Ordering};

    use libc::{CLOCK_REALTIME, EAGAIN};
    use syncline_interpose::preserving_errno;
    use syncline_recording::Op;

    use super::*;
    use crate::count::{
        Caller, Outcome, begins_with, counted, passed, refused, spot, wait_for_lock, waking,
        waking_nobody,
    };
    use crate::interpose::acceptable;

    unsafe fn wait(
        op: Op,
        sem: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            let spot = spot(op, sem as usize, caller);
            real::pthread_testcancel();
            if preserving_errno(|| real::sem_trywait(sem)) == 0 {
                passed(spot, op, caller);
                return 0;
            }
            wait_for_lock(op, sem as usize, caller, block, Outcome::of_errno)
        }
    }

    pub unsafe extern "C-unwind" fn sem_wait(sem: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { wait(Op::SemWait, sem, caller, move || real::sem_wait(sem)) }
    }

    pub unsafe extern "C-unwind" fn sem_timedwait(
        sem: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::sem_timedwait(sem, deadline);
            if !acceptable(CLOCK_REALTIME, deadline) {
                return block();
            }
            wait(Op::SemTimedwait, sem, caller, block)
        }
    }

    pub unsafe extern "C-unwind" fn sem_clockwait(
        sem: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::sem_clockwait(sem, clock, deadline);
            if !acceptable(clock, deadline) {
                return block();
            }
            wait(Op::SemTimedwait, sem, caller, block)
        }
    }

    pub unsafe extern "C-unwind" fn sem_trywait(sem: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let spot = spot(Op::SemTrywait, sem as usize, caller);
            let result = real::sem_trywait(sem);
            if result == 0 {
                passed(spot, Op::SemTrywait, caller);
            } else if *libc::__errno_location() == EAGAIN {
                refused(spot, Op::SemTrywait, sem as usize, caller);
            }
            result
        }
    }

    /// Whether a thread may be waiting for a semaphore. Since version 2.21, libc keeps the number
    /// of waiters behind the value. In a libc that does not, a woken thread would not learn which
    /// thread woke it; nothing else would be lost.
    unsafe fn may_be_waited_for(sem: *mut c_void) -> bool {
        const WAITERS: usize = 4;
        // SAFETY: the program's semaphore; the word is read whole.
        unsafe { AtomicU32::from_ptr(sem.byte_add(WAITERS).cast()).load(Ordering::Relaxed) != 0 }
    }

    pub unsafe extern "C-unwind" fn sem_post(sem: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            if may_be_waited_for(sem) {
                waking(sem as usize)
            } else {
                waking_nobody()
            }
            counted(Op::SemPost, sem as usize, caller, real::sem_post(sem))
        }
    }

    pub unsafe extern "C-unwind" fn sem_init(
        sem: *mut c_void,
        shared: c_int,
        value: c_uint,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let result = real::sem_init(sem, shared, value);
            let result = counted(Op::SemInit, sem as usize, caller, result);
            if result == 0 {
                begins_with(value, Op::SemInit, sem as usize, caller);
            }
            result
        }
    }
}
