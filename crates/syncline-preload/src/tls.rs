//! The thread's own words, at a fixed distance from the thread pointer.
//!
//! The preload library is there from the program's start, so its thread-local words can be
//! of the *initial-exec* kind: two moves, no call. Rust has no stable way to ask for
//! that, hence the assembly. They start as zero, are never freed before the thread's
//! stack is, and survive `fork` in the thread that forked.

use core::arch::{asm, global_asm};

use crate::thread::ThreadState;

global_asm!(
    ".pushsection .tbss.syncline,\"awT\",@nobits",
    ".p2align 4",
    ".globl syncline_thread",
    ".hidden syncline_thread",
    ".type syncline_thread, @object",
    ".size syncline_thread, 48",
    "syncline_thread:",
    ".skip 48",
    ".popsection",
);

macro_rules! word {
    ($(#[$doc:meta])* $get:ident, $set:ident, $offset:literal, $type:ty) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $get() -> $type {
            let value: usize;
            // SAFETY: reads this thread's own word, which is there as long as the thread.
            unsafe {
                asm!(
                    "mov {value}, qword ptr [rip + syncline_thread@GOTTPOFF]",
                    concat!("mov {value}, qword ptr fs:[{value} + ", $offset, "]"),
                    value = out(reg) value,
                    options(nostack, preserves_flags, readonly),
                );
            }
            value as $type
        }

        #[doc = concat!("Sets [`", stringify!($get), "`].")]
        pub fn $set(value: $type) {
            // SAFETY: writes this thread's own word.
            unsafe {
                asm!(
                    "mov {at}, qword ptr [rip + syncline_thread@GOTTPOFF]",
                    concat!("mov qword ptr fs:[{at} + ", $offset, "], {value}"),
                    at = out(reg) _,
                    value = in(reg) value as usize,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

/// The thread's state; none before its first operation.
#[inline(always)]
pub fn state() -> Option<&'static ThreadState> {
    // SAFETY: the word is 0 or was set from such a reference, below.
    unsafe { (state_address() as *const ThreadState).as_ref() }
}

/// Sets [`state`].
pub fn set_state(state: Option<&'static ThreadState>) {
    set_state_address(state.map_or(0, |state| (&raw const *state).addr()));
}

word!(
    /// The address of the thread's state; 0 before its first operation.
    state_address, set_state_address, "0", usize
);
word!(
    /// The highest address of the thread's stack; 0 if it is not known yet.
    stack_high, set_stack_high, "8", usize
);
word!(
    /// The lowest address that the stack may reach.
    stack_low, set_stack_low, "16", usize
);
word!(
    /// 1 once the thread has run its last destructor: it counts no more.
    finished, set_finished, "24", usize
);
word!(
    /// 1 inside a function of an OpenMP runtime, which may call another of its own.
    in_openmp, set_in_openmp, "32", usize
);
