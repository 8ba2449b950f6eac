//! Signal handlers and masks of the program.
//!
//! The kernel can't begin a handler on a stack that is global memory, so all handlers run on the
//! thread's stack for handlers. Three signals belong to this library: without them, neither page
//! faults nor system calls can be served.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use libc::{SIGBUS, SIGSEGV, SIGSYS, sigaction as Action, sighandler_t, siginfo_t};
use syncline_interpose::real;

use crate::gate::{self, in_program};
use crate::output::say;

const OURS: [c_int; 3] = [SIGBUS, SIGSEGV, SIGSYS];
const SIGNALS: usize = 65;

/// The program's handlers.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

mod own {
    use super::*;

    real! {
        fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
        fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t;
        fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int;
    }
}

/// Signals from outside go to rank 0. Called by the other ranks before they start threads.
pub fn leave_to_rank_0() {
    // SAFETY: a set that is filled in before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        OURS.iter().for_each(|signal| {
            libc::sigdelset(&raw mut all, *signal);
        });
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, null_mut());
    }
}

/// Makes the system call `rt_sigprocmask` for a mask that the kernel restores later. The C library
/// itself blocks all signals now and then; this library's stay unblocked. Returns the call's result.
pub fn change(mask: &mut u64, arguments: [usize; 6]) -> i64 {
    let [how, new, old, size, ..] = arguments;
    let invalid = -i64::from(libc::EINVAL);
    if size != size_of::<u64>() {
        return invalid;
    }
    let before = *mask;
    if new != 0 {
        // SAFETY: the program's own pointer.
        let new = unsafe { without_provenance::<u64>(new).read_unaligned() };
        let ours = OURS.iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
        let new = new & !ours;
        *mask = match how as c_int {
            libc::SIG_BLOCK => before | new,
            libc::SIG_UNBLOCK => before & !new,
            libc::SIG_SETMASK => new,
            _ => return invalid,
        };
    }
    if old != 0 {
        // SAFETY: as above.
        unsafe { without_provenance_mut::<u64>(old).write_unaligned(before) };
    }
    0
}

/// Runs in place of the program's handler, as this library's code, and calls it.
extern "C-unwind" fn handles(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = HANDLERS[signal as usize].load(SeqCst);
    // SAFETY: the program has set it for this signal. A handler that takes only the signal finds
    // it in the same register.
    let handler: extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
        unsafe { std::mem::transmute(handler) };
    gate::program(|| handler(signal, info, context));
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
) -> c_int {
    let known = (0..SIGNALS as c_int).contains(&signal);
    // SAFETY: the caller's own call, with a handler in front of the program's.
    unsafe {
        if !in_program() || !known {
            return own::sigaction(signal, new, old);
        }
        if OURS.contains(&signal) {
            if !new.is_null() && (*new).sa_sigaction > libc::SIG_IGN {
                let name: &[u8] = if signal == SIGSEGV { b"SIGSEGV" } else { b"SIGBUS or SIGSYS" };
                say(&[b"the program's handler for ", name, b" is not called"]);
            }
            return own::sigaction(signal, null(), old);
        }
        let before = HANDLERS[signal as usize].load(SeqCst);
        let mut ours;
        let mut pointer = null();
        if !new.is_null() {
            ours = *new;
            if ours.sa_sigaction > libc::SIG_IGN {
                HANDLERS[signal as usize].store(ours.sa_sigaction, SeqCst);
                ours.sa_sigaction = handles as *const () as usize;
                ours.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
            }
            OURS.iter().for_each(|signal| {
                libc::sigdelset(&raw mut ours.sa_mask, *signal);
            });
            pointer = &raw const ours;
        }
        let mut kept = std::mem::zeroed::<Action>();
        let status = own::sigaction(signal, pointer, &raw mut kept);
        if status == 0 && !old.is_null() {
            if kept.sa_sigaction == handles as *const () as usize {
                kept.sa_sigaction = before;
            }
            *old = kept;
        }
        status
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::signal(signal, handler);
        }
        let mut new = std::mem::zeroed::<Action>();
        let mut old = std::mem::zeroed::<Action>();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        match sigaction(signal, &raw const new, &raw mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

/// A thread's stack for handlers stays this library's: handlers run on that one.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigaltstack(
    new: *const libc::stack_t,
    old: *mut libc::stack_t,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::sigaltstack(new, old);
        }
        if !old.is_null() {
            *old = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        }
    }
    0
}
