//! Threads that pause before they look again: `sched_yield`, and sleeps for a given time.
//!
//! Such a thread waits for something in its own memory, so the pause is all that is seen of its
//! wait. All yields count as one object, and so do all sleeps; they differ by call site.
//!
//! A yield takes less than a microsecond if no other thread is ready. Then it is like a refused
//! try: the time between two yields that follow each other at once was spent on polling. If another
//! thread ran meanwhile, the yield was a wait. A sleep is a wait for an event that comes by itself.
//!
//! A process that does nothing but pause, such as the command `sleep`, has no thread to wait for.
//! So pauses alone do not make a process begin its recording.

use core::ffi::{c_int, c_uint};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn sched_yield() -> c_int;
            fn thrd_yield();
            fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int;
            fn clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int;
            fn usleep(microseconds: c_uint) -> c_int;
            fn sleep(seconds: c_uint) -> c_uint;
            fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
}

/// Stands for the processor that threads yield.
#[unsafe(no_mangle)]
pub static yielded_processor: u64 = 0;
/// Stands for the time that sleeping threads wait for.
#[unsafe(no_mangle)]
pub static passed_time: u64 = 0;

mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::count::{Caller, Outcome, polling, wait_for_event};
    use crate::recorder;

    unsafe fn yields(caller: Caller, leave: impl FnOnce() -> c_int) -> c_int {
        if recorder::existing().is_none() {
            return leave();
        }
        let processor = (&raw const yielded_processor).addr();
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { polling(Op::Yield, processor, caller, leave) }
    }

    unsafe fn asleep(
        caller: Caller,
        sleep: impl FnOnce() -> c_int,
        outcome: fn(c_int) -> Outcome,
    ) -> c_int {
        if recorder::existing().is_none() {
            return sleep();
        }
        let time = (&raw const passed_time).addr();
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { wait_for_event(Op::Sleep, time, caller, sleep, outcome) }
    }

    pub unsafe extern "C-unwind" fn sched_yield(caller: Caller) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { yields(caller, || real::sched_yield()) }
    }

    pub unsafe extern "C-unwind" fn thrd_yield(caller: Caller) {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            let leave = || {
                real::thrd_yield();
                0
            };
            yields(caller, leave);
        }
    }

    pub unsafe extern "C-unwind" fn nanosleep(
        time: *const timespec,
        left: *mut timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { asleep(caller, || real::nanosleep(time, left), Outcome::of_errno) }
    }

    pub unsafe extern "C-unwind" fn clock_nanosleep(
        clock: clockid_t,
        flags: c_int,
        time: *const timespec,
        left: *mut timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        let sleep = || unsafe { real::clock_nanosleep(clock, flags, time, left) };
        // SAFETY: as above.
        unsafe { asleep(caller, sleep, Outcome::of_sleep) }
    }

    pub unsafe extern "C-unwind" fn usleep(microseconds: c_uint, caller: Caller) -> c_int {
        // SAFETY: the program's own call.
        unsafe { asleep(caller, || real::usleep(microseconds), Outcome::of_errno) }
    }

    /// Returns the seconds that are left if a signal ended the sleep.
    pub unsafe extern "C-unwind" fn sleep(seconds: c_uint, caller: Caller) -> c_uint {
        // SAFETY: the program's own call.
        let sleep = || unsafe { real::sleep(seconds) as c_int };
        // SAFETY: as above.
        unsafe { asleep(caller, sleep, Outcome::of_seconds_left) as c_uint }
    }

    pub unsafe extern "C-unwind" fn thrd_sleep(
        time: *const timespec,
        left: *mut timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { asleep(caller, || real::thrd_sleep(time, left), Outcome::of_thrd_sleep) }
    }
}
