//! The signal handler for accesses to the shared memory that the system could not make.
//!
//! Accesses to absent pages and writes to clean ones raise SIGBUS or SIGSEGV, depending on the
//! fault side, in the thread that makes the access. The handler lets the node make the access
//! possible, and returns; then the processor retries the access. The handler allocates nothing. It
//! takes the node's lock. The program's own thread never faults while it holds that lock: it has
//! all signals blocked then, and touches no shared memory.
//!
//! Signals for other addresses are the program's own: they go to the handler that was there before
//! ours, or get the system's default action.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::rank::Rank;
use crate::pages::Access;

const SIGNALS: [libc::c_int; 2] = [libc::SIGBUS, libc::SIGSEGV];

/// The actions that these signals had before.
struct Before(UnsafeCell<MaybeUninit<[libc::sigaction; 2]>>);

// SAFETY: written once, before the handlers that read it are installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

/// Installs the handlers. The rank must be set before, since the handlers use it.
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
            let handler: extern "C" fn(_, *mut libc::siginfo_t, *mut libc::c_void) = handle;
            ours.sa_sigaction = handler as usize;
            // Use the thread's signal stack if it has one: the signal may report an overflow of its
            // own stack.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // No other handler runs in this thread while it holds the node's lock.
            libc::sigfillset(&mut ours.sa_mask);
            if libc::sigaction(signal, &ours, null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's arguments; these signals have an address, if the kernel sent them.
    let (address, by_kernel) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    // SAFETY: this thread's `errno`, which the interrupted code may be about to look at.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *errno };
    let ours = by_kernel && Rank::get().is_some_and(|rank| rank.fault(address, access(context)));
    // SAFETY: as above.
    unsafe { *errno = kept };
    match Rank::get() {
        _ if ours => {}
        // An address outside of all allocations behaves as if nothing were mapped there, on every
        // fault side.
        Some(rank) if signal == libc::SIGBUS && by_kernel && rank.forbid(address) => {}
        _ => pass_on(signal, info, context),
    }
}

/// Whether the access writes, as the processor reports.
#[cfg(target_arch = "x86_64")]
fn access(context: *mut libc::c_void) -> Option<Access> {
    const WRITE: i64 = 1 << 1;
    // SAFETY: what the kernel passes to a handler with `SA_SIGINFO`.
    let error =
        unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_ERR as usize] };
    Some(if error & WRITE != 0 { Access::Write } else { Access::Read })
}

/// Whether the access writes: `None`, since other processors are not asked. The rank infers it from
/// whether the page is present.
#[cfg(not(target_arch = "x86_64"))]
fn access(_: *mut libc::c_void) -> Option<Access> {
    None
}

/// Passes a signal on to what would have handled it without this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let number = usize::from(signal != SIGNALS[0]);
    // SAFETY: written by `install`, and not changed since.
    let before = unsafe { *BEFORE.0.get().cast::<libc::sigaction>().add(number) };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            let mut default = before;
            default.sa_sigaction = libc::SIG_DFL;
            // SAFETY: installs the system's default action. When we return, the access is retried
            // and now ends the program, as an ignored fault does. A signal that was sent is raised
            // again.
            unsafe {
                libc::sigaction(signal, &default, null_mut());
                if (*info).si_code <= 0 {
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
