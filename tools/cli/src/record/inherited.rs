//! What Syncline was started with and the program shall start with as well.
//!
//! Before `main`, Rust's runtime makes the process ignore SIGPIPE, and `Command` sets it to
//! the default in every child. But a program may have been meant to start with SIGPIPE
//! ignored: systemd starts services so. Therefore its state is noted before the runtime
//! starts, by a function in the list of those that run before `main`.

use std::io;
use std::mem::zeroed;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the section is a list of functions of this type, and `note_sigpipe` needs nothing
// of the runtime that is not there yet.
#[unsafe(link_section = ".init_array")]
static NOTE_SIGPIPE: extern "C" fn() = note_sigpipe;

extern "C" fn note_sigpipe() {
    // SAFETY: a sigaction of zeros is a valid one, and the call only fills it in.
    let ignored = unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(libc::SIGPIPE, null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    };
    SIGPIPE_IGNORED.store(ignored, Ordering::Relaxed);
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
        // SAFETY: the handlers are the default or to ignore: no code of Syncline's set others.
        unsafe {
            signal(Signal::SIGCHLD, self.child_ended)?;
            if SIGPIPE_IGNORED.load(Ordering::Relaxed) {
                signal(Signal::SIGPIPE, SigHandler::SigIgn)?;
            }
        }
        Ok(self.blocked.thread_set_mask()?)
    }
}
