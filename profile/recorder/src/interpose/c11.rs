//! C11's `mtx_*`, `cnd_*` and `thrd_*`, which glibc does not route through `pthread_*`.
//!
//! Underneath they are the same objects, and they are counted as the same operations.

use core::ffi::{c_int, c_ulong, c_void};

use libc::timespec;
use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn mtx_lock(mutex: *mut c_void) -> c_int;
            fn mtx_trylock(mutex: *mut c_void) -> c_int;
            fn mtx_timedlock(mutex: *mut c_void, deadline: *const timespec) -> c_int;
            fn mtx_unlock(mutex: *mut c_void) -> c_int;
            fn mtx_init(mutex: *mut c_void, kind: c_int) -> c_int;
            fn cnd_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int;
            fn cnd_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int;
            fn cnd_signal(cond: *mut c_void) -> c_int;
            fn cnd_broadcast(cond: *mut c_void) -> c_int;
            fn cnd_init(cond: *mut c_void) -> c_int;
            fn thrd_create(thread: *mut c_ulong, start: *mut c_void, argument: *mut c_void) -> c_int;
            fn thrd_join(thread: c_ulong, result: *mut c_int) -> c_int;
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
    use crate::count::{
        Caller, Outcome, acquired, counted, refused, release, spot, wait_for_event, wait_for_lock,
        wait_letting_go, waking,
    };
    use crate::interpose::thread::{Prepared, begin_c11};

    const THRD_BUSY: c_int = 1;

    unsafe fn lock(
        op: Op,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            let spot = spot(op, mutex as usize, caller);
            match real::mtx_trylock(mutex) {
                0 => acquired(spot, op, mutex as usize, caller),
                THRD_BUSY => wait_for_lock(op, mutex as usize, caller, block, Outcome::of_c11),
                _ => block(),
            }
        }
    }

    pub unsafe extern "C-unwind" fn mtx_lock(mutex: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { lock(Op::MutexLock, mutex, caller, move || real::mtx_lock(mutex)) }
    }

    pub unsafe extern "C-unwind" fn mtx_timedlock(
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            lock(Op::MutexTimedlock, mutex, caller, move || real::mtx_timedlock(mutex, deadline))
        }
    }

    pub unsafe extern "C-unwind" fn mtx_trylock(mutex: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let spot = spot(Op::MutexTrylock, mutex as usize, caller);
            let result = real::mtx_trylock(mutex);
            match result {
                0 => return acquired(spot, Op::MutexTrylock, mutex as usize, caller),
                THRD_BUSY => refused(spot, Op::MutexTrylock, mutex as usize, caller),
                _ => {}
            }
            result
        }
    }

    pub unsafe extern "C-unwind" fn mtx_unlock(mutex: *mut c_void, _: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { release(mutex as usize, |lock| real::mtx_unlock(lock as *mut c_void)) }
    }

    pub unsafe extern "C-unwind" fn mtx_init(
        mutex: *mut c_void,
        kind: c_int,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { counted(Op::MutexInit, mutex as usize, caller, real::mtx_init(mutex, kind)) }
    }

    unsafe fn wait(
        op: Op,
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            let (cond, mutex) = (cond as usize, mutex as usize);
            wait_letting_go(op, cond, mutex, caller, block, Outcome::of_c11)
        }
    }

    pub unsafe extern "C-unwind" fn cnd_wait(
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { wait(Op::CondWait, cond, mutex, caller, move || real::cnd_wait(cond, mutex)) }
    }

    pub unsafe extern "C-unwind" fn cnd_timedwait(
        cond: *mut c_void,
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            wait(Op::CondTimedwait, cond, mutex, caller, move || {
                real::cnd_timedwait(cond, mutex, deadline)
            })
        }
    }

    pub unsafe extern "C-unwind" fn cnd_signal(cond: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            waking(cond as usize);
            counted(Op::CondSignal, cond as usize, caller, real::cnd_signal(cond))
        }
    }

    pub unsafe extern "C-unwind" fn cnd_broadcast(cond: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            waking(cond as usize);
            counted(Op::CondBroadcast, cond as usize, caller, real::cnd_broadcast(cond))
        }
    }

    pub unsafe extern "C-unwind" fn cnd_init(cond: *mut c_void, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { counted(Op::CondInit, cond as usize, caller, real::cnd_init(cond)) }
    }

    pub unsafe extern "C-unwind" fn thrd_create(
        thread: *mut c_ulong,
        start: *mut c_void,
        argument: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call, or the call with our start function instead, which calls
        // the program's.
        unsafe {
            match Prepared::new(start, argument, core::ptr::null(), caller) {
                Some(prepared) => prepared
                    .create(|state| real::thrd_create(thread, begin_c11 as *mut c_void, state)),
                None => real::thrd_create(thread, start, argument),
            }
        }
    }

    pub unsafe extern "C-unwind" fn thrd_join(
        thread: c_ulong,
        result: *mut c_int,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::thrd_join(thread, result);
            wait_for_event(Op::ThreadJoin, thread as usize, caller, block, Outcome::of_c11)
        }
    }
}
