//! A barrier between processes of which one side is nearly free: the kernel interrupts all threads
//! for the other one (`membarrier`). That takes tens of milliseconds, for the rare side.
//!
//! All processes that share a segment must be able to do it, which they tell each other when they
//! make a window; otherwise both sides have fences.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, compiler_fence, fence};

/// `MEMBARRIER_CMD_QUERY`.
const QUERY: libc::c_long = 0;
/// `MEMBARRIER_CMD_GLOBAL`; also its bit in the answer to the former.
const GLOBAL: libc::c_long = 1;

/// Some process that shares memory with this one can't interrupt others.
static FENCES: AtomicBool = AtomicBool::new(false);

/// Whether this process can do the rare side.
pub fn can_interrupt() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        // SAFETY: the question changes nothing.
        let commands = unsafe { membarrier(QUERY) };
        commands > 0 && commands & GLOBAL != 0
    })
}

/// Has this process use fences, since some other one can't do the rare side.
pub fn use_fences() {
    // Relaxed: before the segment is used that this process shares with it.
    FENCES.store(true, Relaxed);
}

/// The side that is nearly free.
#[inline]
pub fn light() {
    if FENCES.load(Relaxed) {
        fence(SeqCst);
    } else {
        // Pairs with the interruption in `heavy`, which is a barrier wherever it comes.
        compiler_fence(SeqCst);
    }
}

/// The rare side.
pub fn heavy() {
    if can_interrupt() {
        // SAFETY: it has no effect but the barrier.
        unsafe { membarrier(GLOBAL) };
    }
    // SeqCst: pairs with the fence in `light`, of processes that use fences.
    fence(SeqCst);
}

unsafe fn membarrier(command: libc::c_long) -> libc::c_long {
    // SAFETY: our caller's promise; flags and processor are not used.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}
