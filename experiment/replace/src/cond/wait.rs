//! A wait, and its cancellation.

use core::ffi::{c_int, c_long, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, ETIMEDOUT, clockid_t, timespec};

use super::object::Cond;
use crate::deadline;
use crate::mutex::{Mutex, Ops};

/// A structure of the C library: an entry in the list of handlers that a cancellation runs.
#[repr(C)]
struct Handler {
    routine: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut Handler,
}

unsafe extern "C-unwind" {
    fn _pthread_cleanup_push(
        handler: *mut Handler,
        routine: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(handler: *mut Handler, run: c_int);
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

const PTHREAD_CANCEL_ASYNCHRONOUS: c_int = 1;

/// The argument of the handler that runs when a wait is cancelled.
struct Wait {
    cond: *const Cond,
    mutex: *const Mutex,
    /// The mutex's functions.
    ops: &'static Ops,
}

/// Leaves a wait that is cancelled, and acquires the mutex for the program's own handlers.
unsafe extern "C-unwind" fn cancelled(wait: *mut c_void) {
    // SAFETY: the wait is on the stack of the cancelled thread, which runs this function.
    unsafe {
        let wait = &*wait.cast::<Wait>();
        // This thread may have been woken, in which case another waiter has to get the wake-up.
        // Otherwise that waiter wakes without a reason, as it may.
        (*wait.cond).pass_on();
        (*wait.cond).leave();
        (wait.ops.lock)(wait.mutex);
    }
}

/// Waits with a mutex for a condition variable that is ours.
///
/// # Safety
///
/// Same requirements as POSIX' functions. `ops` are the mutex's functions. If there is a deadline,
/// its clock is known and its time is valid.
pub unsafe fn wait(
    cond: *const Cond,
    mutex: *const Mutex,
    ops: &'static Ops,
    until: Option<(clockid_t, *const timespec)>,
) -> c_int {
    // SAFETY: our caller's promise. The handler is removed before this function returns.
    unsafe {
        let shown = &*cond;
        // Relaxed: a thread that notifies this one holds the mutex after this point.
        shown.waiters.fetch_add(1, Relaxed);
        let sequence = shown.sequence.load(Relaxed);
        let refused = (ops.unlock)(mutex);
        if refused != 0 {
            shown.leave();
            return refused;
        }
        let mut wait = Wait { cond, mutex, ops };
        let mut handler = MaybeUninit::<Handler>::uninit();
        _pthread_cleanup_push(handler.as_mut_ptr(), cancelled, (&raw mut wait).cast());
        let result = sleep(shown, sequence, until);
        _pthread_cleanup_pop(handler.as_mut_ptr(), 0);
        shown.leave();
        let relocked = (ops.lock)(mutex);
        if relocked != 0 { relocked } else { result }
    }
}

/// Sleeps until the sequence has changed or the deadline has passed. A cancellation may end the
/// thread anywhere in this function. So the function does nothing that would have to be undone,
/// except what `cancelled` undoes. A cancelled thread has no use for `errno`.
#[inline(never)]
unsafe fn sleep(cond: &Cond, sequence: u32, until: Option<(clockid_t, *const timespec)>) -> c_int {
    let (clock, time) = until.unwrap_or((CLOCK_MONOTONIC, ptr::null()));
    // SAFETY: the pointer is to a valid time unless it is null.
    if !time.is_null() && unsafe { deadline::is_before_1970(time) } {
        return ETIMEDOUT;
    }
    let real_time = if clock == CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = libc::FUTEX_WAIT_BITSET | cond.private() | real_time;
    let word = cond.sequence.as_ptr();
    // SAFETY: the word is part of the condition variable, and the time is valid or null.
    // FUTEX_WAIT_BITSET takes an absolute time.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mut kind = 0;
        let mut result = 0;
        // Relaxed: the mutex orders the program's own accesses.
        while cond.sequence.load(Relaxed) == sequence {
            pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &raw mut kind);
            let none = ptr::null::<u32>();
            let outcome = syscall(libc::SYS_futex, word, operation, sequence, time, none, u32::MAX);
            let why = *errno;
            pthread_setcanceltype(kind, &raw mut kind);
            if outcome == 0 {
                break;
            }
            if why == ETIMEDOUT {
                result = ETIMEDOUT;
                break;
            }
        }
        *errno = before;
        result
    }
}
