//! A barrier between processes that has two sides, one for frequent and one for rare use. The
//! frequent side is nearly free. For the rare side, the kernel makes all running threads pass a
//! barrier (`membarrier`), which takes tens of milliseconds.
//!
//! All processes that share a segment must be able to execute the rare side; they tell each other
//! when they make a window. If one process is not able to, both sides use fences.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, compiler_fence, fence};

/// The number of the kernel's command `MEMBARRIER_CMD_QUERY`.
const QUERY: libc::c_long = 0;
/// The number of the command `MEMBARRIER_CMD_GLOBAL`, and also its bit in the answer to the query.
const GLOBAL: libc::c_long = 1;

/// Whether fences are used, because this process, or another one that has made a window with this
/// one, can't execute the rare side.
static FENCES: AtomicBool = AtomicBool::new(false);

/// Whether this process can execute the rare side.
pub fn can_interrupt() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        // SAFETY: the query changes nothing.
        let commands = unsafe { membarrier(QUERY) };
        commands > 0 && commands & GLOBAL != 0
    })
}

/// Makes this process use fences, because this process or another one can't execute the rare side.
pub fn use_fences() {
    // Relaxed: this is stored before this process uses the segment that it shares with the other
    // one.
    FENCES.store(true, Relaxed);
}

/// Executes the frequent side, which is nearly free.
#[inline]
pub fn light() {
    if FENCES.load(Relaxed) {
        fence(SeqCst);
    } else {
        // Pairs with `membarrier` in `heavy`, which acts as a barrier at whatever point this thread
        // is.
        compiler_fence(SeqCst);
    }
}

/// Executes the rare side.
pub fn heavy() {
    if can_interrupt() {
        // SAFETY: the system call has no effect other than the barrier.
        unsafe { membarrier(GLOBAL) };
    }
    // SeqCst: pairs with the fence in `light`, in processes that use fences.
    fence(SeqCst);
}

unsafe fn membarrier(command: libc::c_long) -> libc::c_long {
    // SAFETY: our caller's promise; flags and processor are not used.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}
