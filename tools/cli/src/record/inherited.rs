//! The signal state with which Syncline was started. The program starts with this state too.
//!
//! Before `main`, Rust's runtime makes the process ignore SIGPIPE, and `Command` sets SIGPIPE to
//! the default in every child. The C library handles two signals for its threads. It installs one
//! of these handlers when a second thread is made, and a program that the process then executes
//! starts with the default action for that signal. But a program may have to start with one of
//! these three signals ignored: systemd starts services with SIGPIPE ignored, and the C library's
//! posix_spawn ignores the library's two signals in every child. So one of the functions that run
//! before `main` reads the signals' state before the runtime starts.

use std::io;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

/// The signals whose actions Rust's runtime or the C library sets before a program starts: SIGPIPE,
/// and the C library's two signals, which can't be accessed by its `sigaction`.
const SET_BY_OTHERS: [i32; 3] = [libc::SIGPIPE, 32, 33];

/// The signals of [`SET_BY_OTHERS`] that were ignored when this process started, with one bit for
/// each.
static IGNORED: AtomicU64 = AtomicU64::new(0);

#[used]
// SAFETY: the section is a list of functions of this type, and `note_ignored` needs nothing of the
// runtime, which is not there yet.
#[unsafe(link_section = ".init_array")]
static NOTE_IGNORED: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    for signal in SET_BY_OTHERS {
        let mut action = Action::default();
        // SAFETY: the kernel only writes the action.
        if unsafe { set_action(signal, null(), &mut action) }.is_ok()
            && action.handler == libc::SIG_IGN
        {
            IGNORED.fetch_or(1 << signal, Ordering::Relaxed);
        }
    }
}

/// A signal's action, in the kernel's layout for x86-64 and AArch64.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

/// The system call `rt_sigaction`.
///
/// # Safety
/// What the C library's `sigaction` requires: the pointers are null or valid, and a handler is a
/// function that can handle signals.
unsafe fn set_action(signal: i32, new: *const Action, old: *mut Action) -> nix::Result<()> {
    // SAFETY: the caller's promise; the last argument is the size of a signal mask.
    let result =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size_of::<u64>()) };
    Errno::result(result).map(drop)
}

/// The signal state with which the program is to start.
pub struct Signals {
    blocked: SigSet,
    child_ended: SigHandler,
}

impl Signals {
    /// Reads the state. Also makes sure that Syncline learns when the program ends, even if it was
    /// started with SIGCHLD ignored.
    ///
    /// # Errors
    /// If sigaction or pthread_sigmask fails, which is not expected here.
    pub fn note() -> nix::Result<Signals> {
        // SAFETY: this sets the default action, and no function as a handler.
        let child_ended = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
        Ok(Signals { blocked: SigSet::thread_get_mask()?, child_ended })
    }

    /// Sets this state in the present process. Calls only functions that may be called between fork
    /// and exec.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: the action is the default, or to ignore the signal: Syncline's code sets no
        // other.
        unsafe { signal(Signal::SIGCHLD, self.child_ended) }?;
        let ignored = IGNORED.load(Ordering::Relaxed);
        for number in SET_BY_OTHERS.into_iter().filter(|number| ignored & (1 << number) != 0) {
            let ignore = Action { handler: libc::SIG_IGN, ..Action::default() };
            // SAFETY: the action is fully initialised, and has no function as a handler.
            unsafe { set_action(number, &ignore, null_mut()) }?;
        }
        Ok(self.blocked.thread_set_mask()?)
    }
}
