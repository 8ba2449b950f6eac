//! The signal state that Syncline was started with, for the program to start with as well.
//!
//! Before `main`, Rust's runtime makes the process ignore SIGPIPE, and `Command` sets it to the
//! default in every child. The C library handles two signals for its threads, one of them as soon
//! as a second thread is made; a program that the process executes then starts with the default.
//! But a program may be meant to start with such a signal ignored: systemd starts services with
//! SIGPIPE ignored, and the C library's posix_spawn ignores its own two signals in every child.
//! Therefore the signals' state is noted before the runtime starts, by one of the functions that
//! run before `main`.

use std::io;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

/// The signals that Rust's runtime or the C library set before the program starts: SIGPIPE, and the
/// C library's own two, to which its `sigaction` refuses access.
const SET_BY_OTHERS: [i32; 3] = [libc::SIGPIPE, 32, 33];

/// The signals of [`SET_BY_OTHERS`] that were ignored when this process started, one bit each.
static IGNORED: AtomicU64 = AtomicU64::new(0);

#[used]
// SAFETY: the section is a list of functions of this type, and `note_ignored` needs nothing
// of the runtime that is not there yet.
#[unsafe(link_section = ".init_array")]
static NOTE_IGNORED: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    for signal in SET_BY_OTHERS {
        let mut action = Action::default();
        // SAFETY: the kernel only fills the action in.
        if unsafe { set_action(signal, null(), &mut action) }.is_ok()
            && action.handler == libc::SIG_IGN
        {
            IGNORED.fetch_or(1 << signal, Ordering::Relaxed);
        }
    }
}

/// A signal action in the kernel's layout, on x86-64 and AArch64.
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
/// Same requirements as the C library's `sigaction`: the pointers are null or valid, and a handler
/// is a function that handles signals.
unsafe fn set_action(signal: i32, new: *const Action, old: *mut Action) -> nix::Result<()> {
    // SAFETY: by this function's contract; the last argument is the size of a mask.
    let result =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size_of::<u64>()) };
    Errno::result(result).map(drop)
}

/// The signal state to give to the program.
pub struct Signals {
    blocked: SigSet,
    child_ended: SigHandler,
}

impl Signals {
    /// Notes the state and makes sure that Syncline itself learns when the program ends,
    /// even if it was started with SIGCHLD ignored.
    ///
    /// # Errors
    /// Those of sigaction and pthread_sigmask, which have no reason to fail here.
    pub fn note() -> nix::Result<Signals> {
        // SAFETY: this sets no function of ours as a handler.
        let child_ended = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
        Ok(Signals { blocked: SigSet::thread_get_mask()?, child_ended })
    }

    /// Gives the state to this process. Only calls what may be called between fork and exec.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: the action is the default or to ignore the signal: no code of Syncline sets
        // another.
        unsafe { signal(Signal::SIGCHLD, self.child_ended) }?;
        let ignored = IGNORED.load(Ordering::Relaxed);
        for number in SET_BY_OTHERS.into_iter().filter(|number| ignored & (1 << number) != 0) {
            let ignore = Action { handler: libc::SIG_IGN, ..Action::default() };
            // SAFETY: the action is fully initialised and has no handler function.
            unsafe { set_action(number, &ignore, null_mut()) }?;
        }
        Ok(self.blocked.thread_set_mask()?)
    }
}
