//! Threads: their creation, their names, and waiting for their end.
//!
//! A thread that is created here starts in a function of ours. This function gives the thread its
//! state, and then calls the program's function. The end of a thread is noticed in
//! [`crate::thread::attach`].

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::sync::atomic::Ordering;

use libc::{clockid_t, pthread_attr_t, timespec};
use rustix::process::{Resource, getrlimit};
use syncline_interpose::{entry, real};
use syncline_recording::Op;

use crate::count::{Caller, happened};
use crate::recorder;
use crate::thread::{self, Start, ThreadState, attach, rows};
use crate::tls;

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn pthread_create(thread: *mut c_ulong, attributes: *const pthread_attr_t, start: *mut c_void, argument: *mut c_void) -> c_int;
            fn pthread_join(thread: c_ulong, result: *mut c_void) -> c_int;
            fn pthread_timedjoin_np(thread: c_ulong, result: *mut c_void, deadline: *const timespec) -> c_int;
            fn pthread_clockjoin_np(thread: c_ulong, result: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
            fn pthread_setname_np(thread: c_ulong, name: *const c_char) -> c_int;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
    real! {
        fn pthread_attr_getstacksize(attributes: *const pthread_attr_t, size: *mut usize) -> c_int;
    }
}

/// A thread's state that is ready before the thread exists.
pub struct Prepared {
    state: &'static ThreadState,
    function: *mut c_void,
    caller: Caller,
}

impl Prepared {
    /// Takes a state for a new thread; `None` if the thread can't be recorded.
    ///
    /// # Safety
    /// The arguments are the program's, and `caller` is a [`Caller`].
    pub unsafe fn new(
        function: *mut c_void,
        argument: *mut c_void,
        attributes: *const pthread_attr_t,
        caller: Caller,
    ) -> Option<Prepared> {
        // SAFETY: by this function's own condition; the state was just taken, so it is ours.
        unsafe {
            let creator = attach::current()?;
            let row = rows::of(Op::ThreadCreate, function as usize, caller);
            let state = recorder::get()?.threads.take()?;
            state.start.set(Start {
                function,
                argument,
                creator: creator.index.load(Ordering::Relaxed),
                created_at: if row.is_null() { 0 } else { rows::stack_of(row, caller) },
                stack_size: stack_size(attributes),
            });
            Some(Prepared { state, function, caller })
        }
    }

    /// Creates the thread and counts that. If the creation fails, gives the state back.
    pub fn create(self, create: impl FnOnce(*mut c_void) -> c_int) -> c_int {
        let result = create((&raw const *self.state).cast_mut().cast());
        if result == 0 {
            // SAFETY: `new` was given a caller.
            unsafe { happened(Op::ThreadCreate, self.function as usize, self.caller) };
        } else if let Some(recorder) = recorder::existing() {
            recorder.threads.give_back(self.state);
        }
        result
    }
}

/// The size of the stack that a thread with these attributes gets.
unsafe fn stack_size(attributes: *const pthread_attr_t) -> usize {
    const DEFAULT: usize = 8 << 20;
    if !attributes.is_null() {
        let mut size = 0;
        // SAFETY: the program's attributes, and initialised.
        if unsafe { real::pthread_attr_getstacksize(attributes, &raw mut size) } == 0 {
            return size;
        }
    }
    getrlimit(Resource::Stack).current.map_or(DEFAULT, |limit| limit as usize)
}

/// Gives the new thread its state. Returns the function that the thread is to run, and its
/// argument.
///
/// # Safety
/// `state` was prepared for this thread.
#[inline(always)]
unsafe fn arrive(state: *mut c_void) -> Start {
    /// The stack begins more than this many bytes above this frame.
    const ABOVE: usize = 128;
    // SAFETY: by this function's own condition.
    let state = unsafe { &*state.cast::<ThreadState>() };
    let start = state.start.get();
    let high = (&raw const start).addr() + size_of::<Start>() + ABOVE;
    tls::set_stack_high(high);
    tls::set_stack_low(high.saturating_sub(start.stack_size));
    if let Some(recorder) = recorder::existing() {
        // SAFETY: by this function's own condition.
        unsafe { attach::attach(recorder, state, start) };
    }
    start
}

/// The start function of a POSIX thread.
unsafe extern "C-unwind" fn begin(state: *mut c_void) -> *mut c_void {
    // SAFETY: the program's start function has this type.
    unsafe {
        let start = arrive(state);
        let function: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void =
            core::mem::transmute(start.function);
        function(start.argument)
    }
}

/// The start function of a C11 thread.
///
/// # Safety
/// `state` was prepared for this thread, with a C11 start function.
pub unsafe extern "C-unwind" fn begin_c11(state: *mut c_void) -> c_int {
    // SAFETY: the program's start function has this type.
    unsafe {
        let start = arrive(state);
        let function: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
            core::mem::transmute(start.function);
        function(start.argument)
    }
}

mod imp {
    use super::*;
    use crate::count::{Outcome, wait_for_event};

    pub unsafe extern "C-unwind" fn pthread_create(
        thread: *mut c_ulong,
        attributes: *const pthread_attr_t,
        start: *mut c_void,
        argument: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call, or the call with our start function instead, which calls
        // the program's.
        unsafe {
            match Prepared::new(start, argument, attributes, caller) {
                Some(prepared) => prepared.create(|state| {
                    real::pthread_create(thread, attributes, begin as *mut c_void, state)
                }),
                None => real::pthread_create(thread, attributes, start, argument),
            }
        }
    }

    unsafe fn join(thread: c_ulong, caller: Caller, block: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe { wait_for_event(Op::ThreadJoin, thread as usize, caller, block, Outcome::of) }
    }

    pub unsafe extern "C-unwind" fn pthread_join(
        thread: c_ulong,
        result: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { join(thread, caller, || real::pthread_join(thread, result)) }
    }

    pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
        thread: c_ulong,
        result: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { join(thread, caller, || real::pthread_timedjoin_np(thread, result, deadline)) }
    }

    pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
        thread: c_ulong,
        result: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            join(thread, caller, || real::pthread_clockjoin_np(thread, result, clock, deadline))
        }
    }

    pub unsafe extern "C-unwind" fn pthread_setname_np(
        thread: c_ulong,
        name: *const c_char,
        _: Caller,
    ) -> c_int {
        // SAFETY: the program's own call; the record is this thread's own. If another thread gives
        // a thread its name, the name is stored when the named thread ends.
        unsafe {
            let result = real::pthread_setname_np(thread, name);
            let attached = thread::state().filter(|state| state.is_attached());
            if let Some(state) = attached.filter(|_| thread as usize == tls::pthread_self()) {
                attach::store_name(state.record.get());
            }
            result
        }
    }
}
