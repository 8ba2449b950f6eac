//! An asymmetric barrier: one side pays for both sides.
//!
//! Two threads each store a word and then load the other's word. At least one of them sees the
//! other's store if each has a barrier between its two accesses. A processor's barrier waits until
//! the store's line has arrived. If one of the threads needs the barrier rarely, it can pay for
//! both: on Linux it asks the kernel to interrupt all processors that run threads of this process
//! (`membarrier(2)`), and an interrupt is a barrier. The other side then only keeps the compiler
//! from reordering.
//!
//! ```text
//!   UNKNOWN -> KERNEL           the kernel provides the heavy side
//!           -> FENCES           the kernel's call fails: both sides have fences
//!   KERNEL  -> LEAVING -> FENCES    the kernel's call fails from some time on
//! ```
//!
//! The light side has a fence in all states but KERNEL, so only leaving KERNEL is delicate: see
//! [`linux::leave`]. A forked process inherits the state and the kernel's registration.
//!
//! Source: Desnoyers, `membarrier(2)`; the terms light and heavy are those of "Asymmetric fences"
//! (P1202, for C++).

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use linux::{heavy, light};

#[cfg(any(not(target_os = "linux"), miri))]
pub(super) use elsewhere::{heavy, light};

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use core::ptr;
    use core::sync::atomic::Ordering::{Relaxed, SeqCst};
    use core::sync::atomic::{AtomicU8, compiler_fence, fence};

    const UNKNOWN: u8 = 0;
    const KERNEL: u8 = 1;
    const FENCES: u8 = 2;
    const LEAVING: u8 = 3;

    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// A time in nanoseconds that is longer than any store waits for its line. A thread that needs
    /// longer from its store to its load was interrupted, and an interrupt is a barrier.
    const ALL_STORED: libc::c_long = 1_000_000;

    #[inline(always)]
    pub fn light() {
        // Relaxed: the load may see an outdated state. `heavy` either acts as the outdated state
        // requires, or waits until no light side relies on that state.
        if STATE.load(Relaxed) == KERNEL {
            compiler_fence(SeqCst);
        } else {
            slowly();
        }
    }

    #[cold]
    fn slowly() {
        state();
        fence(SeqCst);
    }

    /// The kind of barrier in use. The first call asks the kernel.
    fn state() -> u8 {
        // Relaxed: the state is all that is read.
        let state = STATE.load(Relaxed);
        if state != UNKNOWN {
            return state;
        }
        let state =
            if call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) { KERNEL } else { FENCES };
        // Relaxed: as above. The first thread's result holds for all, since the kernel may refuse
        // one thread and not another.
        match STATE.compare_exchange(UNKNOWN, state, Relaxed, Relaxed) {
            Ok(_) => state,
            Err(state) => state,
        }
    }

    #[cold]
    pub fn heavy() {
        match state() {
            KERNEL if call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) => {}
            KERNEL | LEAVING => leave(),
            _ => {}
        }
        // If both sides have fences, this is the heavy side's fence. Otherwise the system call was
        // a barrier for this thread as well, but the compiler doesn't know that.
        fence(SeqCst);
    }

    /// Changes to fences, since the kernel's barrier fails now: a filter of system calls was set,
    /// or the kernel has no memory. From now on, light sides have fences. This function waits until
    /// the light sides that are under way have ended.
    fn leave() {
        STATE.store(LEAVING, SeqCst);
        let time = libc::timespec { tv_sec: 0, tv_nsec: ALL_STORED };
        let rest = ptr::null_mut::<libc::timespec>();
        // This makes the system call itself, since libc's function is a cancellation point, and the
        // thread must not end here.
        // SAFETY: the time is valid, and the pointer for the remaining time is null.
        unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, rest) };
        STATE.store(FENCES, SeqCst);
    }

    fn call(command: libc::c_int) -> bool {
        // SAFETY: it takes numbers only.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod elsewhere {
    use core::sync::atomic::Ordering::SeqCst;
    use core::sync::atomic::fence;

    #[inline(always)]
    pub fn light() {
        fence(SeqCst);
    }

    pub fn heavy() {
        fence(SeqCst);
    }
}
