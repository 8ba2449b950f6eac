//! The gate through which this library does all work that makes system calls, or needs more than a
//! few hundred bytes of stack.
//!
//! **System calls.** A program may forbid itself system calls (seccomp). The kernel then kills it
//! at any call that it didn't allow. So before the program's own call can forbid system calls to
//! its threads, [`close`] closes the gate, and from then on this library leaves the program alone.
//! No thread can enter the gate any more. [`close`] returns when all threads that were inside have
//! left, or after a limited time; only then does the program's call continue.
//!
//! **Stack.** A thread may have only 16 KiB of stack and use most of it; the stack of a coroutine
//! or a signal handler may be even smaller. So [`work`] runs on one of this library's stacks.
//!
//! ```text
//!   allowed    a few system calls, on the program's stack or the engine's
//!   within     the same in a traced section, where no sandbox can begin unnoticed
//!   work       more than a few system calls: on a stack of the library's, with signals blocked
//! ```
//!
//! The engine's own functions run inside [`within`], on the stack of their context.

use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use syncline_interpose::{preserving_errno, run_on, with_signals_blocked};
use syncline_trace::writer::File;

use crate::alloc::map;
use crate::sandbox;

/// The size of a stack in bytes. Only pages that are used take memory.
const STACK: usize = 256 << 10;
/// At most this many unused stacks are kept. As long as no more threads than this work at the same
/// time, stacks are not mapped and unmapped again and again.
const SPARE: usize = 64;
/// [`close`] waits for at most this many times 100 microseconds. It waits that long only if it is
/// called in a signal handler that interrupted this library's work: then the thread inside is its
/// own thread.
const PATIENCE: u32 = 10_000;

static SPARES: [AtomicPtr<u8>; SPARE] = [const { AtomicPtr::new(null_mut()) }; SPARE];
static CLOSED: AtomicBool = AtomicBool::new(false);
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// The trace's file, to which the reason why the program is left alone is written.
static FILE: AtomicPtr<File> = AtomicPtr::new(null_mut());

/// Sets the file in which a sandbox is noted if one is found later.
pub fn report_to(file: &'static File) {
    // Release, with the Acquire of `allowed`: the file's contents are visible.
    FILE.store((&raw const *file).cast_mut(), Release);
}

/// Whether the program is left alone, so that its calls are only passed on.
#[inline]
pub fn is_closed() -> bool {
    CLOSED.load(Relaxed)
}

/// Runs a function that makes system calls; `None`, without running it, if the program is left
/// alone. If the thread is in a sandbox that was not noticed before, the program is left alone from
/// here on.
pub fn allowed<R>(action: impl FnOnce() -> R) -> Option<R> {
    within(|| {
        if !sandbox::is_unnoticed() {
            return Some(action());
        }
        // SAFETY: null, or a file that is never freed.
        let file = unsafe { FILE.load(Acquire).as_ref() };
        // In a forked child, this is the parent's file until the child has created its own.
        if let Some(file) = file.filter(|file| file.is_ours()) {
            file.leave_alone(sandbox::SYSTEM_CALLS);
        }
        // It is too late to wait for other threads as `close` does, because waiting makes system
        // calls.
        CLOSED.store(true, SeqCst);
        None
    })?
}

/// Like [`allowed`], for callers where no sandbox can have begun unnoticed.
pub fn within<R>(action: impl FnOnce() -> R) -> Option<R> {
    // SeqCst, like the load of CLOSED and the two accesses in `close`: either this thread sees that
    // the gate is closed, or `close` sees that this thread is inside.
    INSIDE.fetch_add(1, SeqCst);
    let result = (!CLOSED.load(SeqCst)).then(|| preserving_errno(action));
    // Release, with the load in `close`: what was done inside happens before what follows `close`.
    INSIDE.fetch_sub(1, Release);
    result
}

/// Runs a function on a stack of ours, with signals blocked; `None`, without running it, if the
/// program is left alone or there is no memory for a stack.
pub fn work<R>(action: impl FnOnce() -> R) -> Option<R> {
    allowed(|| {
        let stack = take_stack()?;
        // SAFETY: only this thread has the stack, and its end is page-aligned.
        let result = with_signals_blocked(|| unsafe { run_on(stack.wrapping_add(STACK), action) });
        keep_stack(stack);
        Some(result)
    })?
}

/// Leaves the program alone from here on: waits until no thread is inside, for about a second at
/// most. False, without a wait, if the program was left alone before.
pub fn close() -> bool {
    if CLOSED.swap(true, SeqCst) {
        return false;
    }
    for _ in 0..PATIENCE {
        if INSIDE.load(SeqCst) == 0 {
            break;
        }
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        // SAFETY: the pointer is to a valid time, and null means that no remaining time is written.
        // The program has not forbidden the call yet.
        preserving_errno(|| unsafe { libc::nanosleep(&raw const moment, null_mut()) });
    }
    true
}

/// Resets the count in a forked child. Its only thread is the one that forked, which is not inside.
pub extern "C" fn forked() {
    INSIDE.store(0, Relaxed);
}

fn take_stack() -> Option<*mut u8> {
    let spare = SPARES.iter().find_map(|place| {
        // Acquire, with the Release of `keep_stack`: the stack's last user no longer uses it.
        let found = place.swap(null_mut(), Acquire);
        (!found.is_null()).then_some(found)
    });
    let stack = spare.unwrap_or_else(|| map(STACK, 4096));
    (!stack.is_null()).then_some(stack)
}

fn keep_stack(stack: *mut u8) {
    let kept = SPARES
        .iter()
        .any(|place| place.compare_exchange(null_mut(), stack, Release, Relaxed).is_ok());
    if !kept {
        // SAFETY: the stack was mapped by `take_stack`, and is not in use.
        unsafe { libc::munmap(stack.cast(), STACK) };
    }
}
