//! `pthread_barrier_*`.

use core::ffi::{c_int, c_uint, c_void};

use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn pthread_barrier_wait(barrier: *mut c_void) -> c_int;
            fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: c_uint) -> c_int;
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
    use crate::count::{Caller, Outcome, counted, wait_for_event};

    /// One of the threads gets `PTHREAD_BARRIER_SERIAL_THREAD`, which is not an error.
    fn outcome(result: c_int) -> Outcome {
        if result == 0 || result == libc::PTHREAD_BARRIER_SERIAL_THREAD {
            Outcome::Got
        } else {
            Outcome::Failed
        }
    }

    pub unsafe extern "C-unwind" fn pthread_barrier_wait(
        barrier: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let block = move || real::pthread_barrier_wait(barrier);
            wait_for_event(Op::BarrierWait, barrier as usize, caller, block, outcome)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_barrier_init(
        barrier: *mut c_void,
        attributes: *const c_void,
        count: c_uint,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            counted(
                Op::BarrierInit,
                barrier as usize,
                caller,
                real::pthread_barrier_init(barrier, attributes, count),
            )
        }
    }
}
