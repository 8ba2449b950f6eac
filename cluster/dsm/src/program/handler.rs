//! The signal handler for accesses to shared memory whose pages are absent or not writable.
//!
//! Accesses to absent pages raise a signal in the thread that makes the access: SIGBUS under
//! userfaultfd, and SIGSEGV under `mprotect`. So do writes to clean pages, unless the kernel
//! records them, and writes to frozen pages. The handler lets the node make the access possible,
//! and returns; then the processor retries the access. The handler allocates nothing. The handler
//! takes the node's lock. That can't deadlock with the handler's own thread: a thread that holds
//! the node's lock has all signals blocked and touches no shared memory.
//!
//! A signal for another address belongs to the program. Such a signal goes to the handler that was
//! installed before ours; without one, the system's default action follows. A signal that a process
//! sent stays ignored if the program ignores it; a fault can't be ignored.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use syncline_fabric::signals_are_blocked;

use super::rank::Rank;
use crate::pages::Access;

const SIGNALS: [libc::c_int; 2] = [libc::SIGBUS, libc::SIGSEGV];

/// The actions that were set for these signals before ours.
struct Before(UnsafeCell<MaybeUninit<[libc::sigaction; 2]>>);

// SAFETY: written once, before the handlers that read it are installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

/// Installs the handlers. The process's rank must be set before, since the handlers use it.
///
/// # Errors
///
/// If the system refuses.
pub fn install() -> io::Result<()> {
    for (number, signal) in SIGNALS.into_iter().enumerate() {
        // SAFETY: `sigaction` is plain data; our entry of `BEFORE` is written before the handler for
        // its signal can be called.
        unsafe {
            let before = BEFORE.0.get().cast::<libc::sigaction>().add(number);
            if libc::sigaction(signal, null_mut(), before) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            let handler: unsafe extern "C" fn(_, *mut libc::siginfo_t, *mut libc::c_void) = handle;
            ours.sa_sigaction = handler as usize;
            // The handler runs on the thread's alternate signal stack, if there is one: the signal
            // may also report that the thread's own stack has overflowed.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // Blocks all signals during the handler: no other handler may run in this thread while
            // it holds the node's lock.
            libc::sigfillset(&mut ours.sa_mask);
            if libc::sigaction(signal, &ours, null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// The handler for SIGBUS and SIGSEGV. A program that installs a handler of its own for them after
/// [`start`](super::start) calls this from it.
///
/// # Safety
///
/// The arguments are those that the kernel passes to a handler with `SA_SIGINFO`, and all signals
/// are blocked.
pub unsafe extern "C" fn handle(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes these arguments. If the kernel itself sent the signal, it has an
    // address.
    let (address, by_kernel) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    // SAFETY: `errno` of this thread. The interrupted code may be about to read it, so it is
    // restored below.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *errno };
    let resolve = |rank: &Rank| signals_are_blocked(|| rank.fault(address, access(context)));
    let ours = by_kernel && Rank::get().is_some_and(resolve);
    // SAFETY: as above.
    unsafe { *errno = kept };
    match Rank::get() {
        _ if ours => {}
        // On every fault side, an address outside of all allocations behaves as if nothing were
        // mapped there.
        Some(rank) if signal == libc::SIGBUS && by_kernel && rank.forbid(address) => {}
        _ => pass_on(signal, info, context),
    }
}

/// The kind of the access, as the processor reports it.
#[cfg(target_arch = "x86_64")]
fn access(context: *mut libc::c_void) -> Option<Access> {
    const WRITE: i64 = 1 << 1;
    // SAFETY: what the kernel passes to a handler with `SA_SIGINFO`.
    let error =
        unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_ERR as usize] };
    Some(if error & WRITE != 0 { Access::Write } else { Access::Read })
}

/// The kind of the access: `None`, because this processor's report is not read. The rank infers the
/// kind from whether the page is present.
#[cfg(not(target_arch = "x86_64"))]
fn access(_: *mut libc::c_void) -> Option<Access> {
    None
}

/// Passes a signal on to the action that was set before this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let number = usize::from(signal != SIGNALS[0]);
    // SAFETY: written by `install`, and not changed since.
    let before = unsafe { *BEFORE.0.get().cast::<libc::sigaction>().add(number) };
    // SAFETY: the kernel passes this to `handle`.
    let is_sent = unsafe { (*info).si_code <= 0 };
    match before.sa_sigaction {
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            let mut default = before;
            default.sa_sigaction = libc::SIG_DFL;
            // SAFETY: sets the system's default action. After we return, the processor retries the
            // access, and the default action ends the program; the system does the same for a fault
            // whose signal is ignored. If a process sent the signal, there is no access to retry,
            // so the signal is raised again.
            unsafe {
                libc::sigaction(signal, &default, null_mut());
                if is_sent {
                    libc::raise(signal);
                }
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program has installed it as a function of this type.
            let handler: extern "C" fn(_, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status of a child that takes this action at both signals, installs the handlers, and
    /// sends itself both signals.
    fn status_with(action: libc::sighandler_t) -> libc::c_int {
        // SAFETY: the child makes only calls that are allowed in a signal handler, and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                for signal in SIGNALS {
                    libc::signal(signal, action);
                }
                let installed = install().is_ok();
                for signal in SIGNALS {
                    libc::kill(libc::getpid(), signal);
                }
                libc::_exit(if installed { 7 } else { 1 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        }
    }

    #[test]
    fn ignored_signals_that_were_sent_stay_ignored() {
        let ignored = status_with(libc::SIG_IGN);
        assert!(libc::WIFEXITED(ignored) && libc::WEXITSTATUS(ignored) == 7, "{ignored}");
        let default = status_with(libc::SIG_DFL);
        assert!(libc::WIFSIGNALED(default) && libc::WTERMSIG(default) == SIGNALS[0], "{default}");
    }
}
