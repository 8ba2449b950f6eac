//! Signal handlers and masks of the program.
//!
//! The kernel can't begin a handler on a stack that is global memory, so all handlers run on the
//! thread's stack for handlers. Three signals belong to this library: without them, neither page
//! faults nor system calls can be served.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, without_provenance, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use libc::{SIGBUS, SIGSEGV, SIGSYS, siginfo_t};
use syncline_interpose::real;

use crate::gate::{self, in_program};
use crate::output::say;

const OURS: [c_int; 3] = [SIGBUS, SIGSEGV, SIGSYS];
const SIGNALS: usize = 65;

/// Whether it was said that some handlers are not called.
static SAID: AtomicBool = AtomicBool::new(false);

/// The program's handlers.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

mod own {
    use super::*;

    real! {
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
        let new = new & !our_mask();
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

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    pub handler: usize,
    pub flags: u64,
    pub restorer: usize,
    pub mask: u64,
}

const RESTORER: u64 = 0x0400_0000;

impl Action {
    /// An action that calls this handler on the thread's stack for handlers, and returns by this
    /// library's own instructions.
    pub fn new(handler: usize, flags: i32, mask: u64) -> Action {
        Action {
            handler,
            flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | flags) as u32 as u64 | RESTORER,
            restorer: gate::syncline_unmodified_return as *const () as usize,
            mask,
        }
    }

    /// Sets the action of a signal. Returns the system's result.
    pub fn set(&self, signal: c_int) -> i64 {
        act(signal as usize, std::ptr::from_ref(self).addr(), 0)
    }
}

/// The system call `rt_sigaction`, directly.
fn act(signal: usize, new: usize, old: usize) -> i64 {
    // SAFETY: the kernel checks the pointers, which are to its own structure.
    unsafe { gate::direct(libc::SYS_rt_sigaction, [signal, new, old, size_of::<u64>(), 0, 0]) }
}

/// Makes the program's system call `rt_sigaction`, with a handler of ours in front of the program's.
pub fn install(arguments: [usize; 6]) -> i64 {
    let [signal, new, old, size, ..] = arguments;
    if !(1..SIGNALS).contains(&signal) || size != size_of::<u64>() {
        return -i64::from(libc::EINVAL);
    }
    let before = HANDLERS[signal].load(SeqCst);
    let mut kept = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
    let mut result = 0;
    if OURS.contains(&(signal as c_int)) {
        // SAFETY: the program's own pointer, to the kernel's structure.
        let handles = |new| unsafe { without_provenance::<Action>(new).read_unaligned().handler };
        if new != 0 && handles(new) > libc::SIG_IGN && !SAID.swap(true, SeqCst) {
            say(&[b"the program's handlers for SIGSEGV, SIGBUS and SIGSYS are not called"]);
        }
    } else {
        let mut ours = kept;
        if new != 0 {
            // SAFETY: the program's own pointer, to the kernel's structure.
            ours = unsafe { without_provenance::<Action>(new).read_unaligned() };
            if ours.handler > libc::SIG_IGN {
                HANDLERS[signal].store(ours.handler, SeqCst);
                let handler = handles as *const () as usize;
                ours = Action::new(handler, ours.flags as i32, ours.mask & !our_mask());
            }
        }
        let new = if new == 0 { 0 } else { (&raw const ours).addr() };
        result = act(signal, new, (&raw mut kept).addr());
    }
    if result == 0 && old != 0 {
        if kept.handler == handles as *const () as usize {
            kept.handler = before;
        }
        // SAFETY: as above.
        unsafe { without_provenance_mut::<Action>(old).write_unaligned(kept) };
    }
    result
}

/// This library's signals, as the kernel's mask.
fn our_mask() -> u64 {
    OURS.iter().fold(0, |mask, signal| mask | 1 << (signal - 1))
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
