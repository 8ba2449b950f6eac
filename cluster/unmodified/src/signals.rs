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

use crate::fail::say;
use crate::gate::{self, in_program};
use crate::words::{ALL, Word, program, rank};
use crate::{keys, records, system};

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

/// Signals from outside go to rank 0, and not to this rank: it is in another group of processes than
/// the terminal's, and its server blocks signals.
pub fn leave_to_rank_0() {
    // SAFETY: changes this process's group.
    unsafe { libc::setpgid(0, 0) };
    block(!our_mask());
}

/// Sets the signals that the calling thread blocks. Returns those that it has blocked before.
pub fn block(mask: u64) -> u64 {
    let (new, mut before) = (mask & !our_mask(), 0_u64);
    let (new, old) = ((&raw const new).addr(), (&raw mut before).addr());
    let arguments = [libc::SIG_SETMASK as usize, new, old, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads and writes a mask each.
    unsafe { system::direct(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// The signals that the calling thread blocks.
pub fn blocked() -> u64 {
    let mask = block(u64::MAX);
    block(mask);
    mask
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
            restorer: system::syncline_unmodified_return as *const () as usize,
            mask,
        }
    }

    /// Sets the action of a signal. Returns the system's result.
    pub fn set(&self, signal: c_int) -> i64 {
        act(signal as usize, std::ptr::from_ref(self).addr(), 0)
    }
}

/// Where the actions of all signals are in rank 0's words: three words for each.
pub const FIRST: usize = records::BYTES + keys::BYTES;
pub const BYTES: usize = SIGNALS * 3 * size_of::<u64>();

fn shared(signal: usize) -> Word {
    Word::of(0, FIRST + signal * 3 * size_of::<u64>())
}

/// Makes the program's action for a signal that of all ranks: a thread of any of them may get it.
fn publish(signal: usize, action: &Action) {
    for (number, value) in
        [action.handler as u64, action.flags, action.mask].into_iter().enumerate()
    {
        shared(signal).plus(number).store(value);
    }
    let change = records::changes().add(1) + 1;
    records::applied(rank()).store(change);
    for other in (0..program().ranks()).filter(|other| *other != rank()) {
        records::send_mail(other);
        let applied = records::applied(other);
        let mut seen = applied.load();
        while seen < change {
            applied.wait_while(seen, None);
            seen = applied.load();
        }
    }
}

/// Makes the changes to signals' actions that other ranks have made. Called by this rank's server.
pub fn apply() {
    let (changes, applied) = (records::changes().load(), records::applied(rank()));
    if applied.load() >= changes {
        return;
    }
    for signal in (1..SIGNALS).filter(|signal| !OURS.contains(&(*signal as c_int))) {
        let [handler, flags, mask] =
            std::array::from_fn(|number| shared(signal).plus(number).load());
        if (handler, flags) != (0, 0) {
            set(signal, &Action { handler: handler as usize, flags, restorer: 0, mask }, 0);
        }
    }
    applied.store(changes);
    applied.wake(ALL);
}

/// Sets the program's action for a signal on this rank, with a handler of ours in front of the
/// program's. `old` is where the system writes the action before. Returns the system's result.
fn set(signal: usize, action: &Action, old: usize) -> i64 {
    let mut ours = *action;
    if action.handler > libc::SIG_IGN {
        HANDLERS[signal].store(action.handler, SeqCst);
        let handler = handles as *const () as usize;
        ours = Action::new(handler, action.flags as i32, action.mask & !our_mask());
    }
    act(signal, (&raw const ours).addr(), old)
}

/// The system call `rt_sigaction`, directly.
fn act(signal: usize, new: usize, old: usize) -> i64 {
    // SAFETY: the kernel checks the pointers, which are to its own structure.
    unsafe { system::direct(libc::SYS_rt_sigaction, [signal, new, old, size_of::<u64>(), 0, 0]) }
}

/// Makes the program's system call `rt_sigaction`.
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
        let old = (&raw mut kept).addr();
        if new == 0 {
            result = act(signal, 0, old);
        } else {
            // SAFETY: the program's own pointer, to the kernel's structure.
            let action = unsafe { without_provenance::<Action>(new).read_unaligned() };
            result = set(signal, &action, old);
            if result == 0 {
                publish(signal, &action);
            }
        }
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
