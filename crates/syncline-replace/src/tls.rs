//! The thread's own words, at a fixed distance from the thread pointer.
//!
//! The library is there from the program's start, so they can be of the *initial-exec* kind: two
//! moves, and never an allocation. Rust has no stable way to ask for that, hence the assembly.
//! They start as zero, outlive all destructors, and survive `fork` in the thread that forked.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

global_asm!(
    ".pushsection .tbss.syncline_replace,\"awT\",@nobits",
    ".p2align 4",
    ".globl syncline_replace_thread",
    ".hidden syncline_replace_thread",
    ".type syncline_replace_thread, @object",
    ".size syncline_replace_thread, 32",
    "syncline_replace_thread:",
    ".skip 32",
    ".popsection",
);

macro_rules! word {
    ($(#[$doc:meta])* $get:ident, $set:ident, $offset:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $get() -> usize {
            let value: usize;
            // SAFETY: reads this thread's own word, which is there as long as the thread.
            unsafe {
                asm!(
                    "mov {value}, qword ptr [rip + syncline_replace_thread@GOTTPOFF]",
                    concat!("mov {value}, qword ptr fs:[{value} + ", $offset, "]"),
                    value = out(reg) value,
                    options(nostack, preserves_flags, readonly),
                );
            }
            value
        }

        #[doc = concat!("Sets [`", stringify!($get), "`].")]
        #[inline]
        pub fn $set(value: usize) {
            // SAFETY: writes this thread's own word.
            unsafe {
                asm!(
                    "mov {at}, qword ptr [rip + syncline_replace_thread@GOTTPOFF]",
                    concat!("mov qword ptr fs:[{at} + ", $offset, "], {value}"),
                    at = out(reg) _,
                    value = in(reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

word!(number, set_number, "0");
word!(
    /// The first of the thread's free lines; 0 if there is none.
    lines, set_lines, "8"
);
word!(
    /// Whether the thread's end will be noticed ([`NOTICED`]), or has been ([`ENDED`]).
    stage, set_stage, "16"
);

/// The thread's end will be noticed.
pub const NOTICED: usize = 1;
/// The thread has ended as far as we were told; destructors of others may still run.
pub const ENDED: usize = 2;

/// A number for this thread, not 0, that no other thread of the process has or had; a forked
/// child's only thread keeps its parent's.
#[inline(always)]
pub fn this_thread() -> u32 {
    let number = number() as u32;
    if number != 0 { number } else { new_number() }
}

#[cold]
fn new_number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    // Relaxed: numbers need only differ.
    let number = LAST.fetch_add(1, Relaxed) + 1;
    set_number(number as usize);
    number
}
