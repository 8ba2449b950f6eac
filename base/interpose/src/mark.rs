//! A mark on data that a thread changes in several steps, for the signal handlers that interrupt
//! it.
//!
//! A handler that finds the mark leaves the data alone. But a handler may also leave by
//! `siglongjmp`: then the interrupted function never removes the mark, and the data would be left
//! alone for ever. So the mark is the stack pointer of the function that set it. A handler runs
//! below the frame that it interrupts, by at least the bytes that the kernel puts between them. A
//! mark that a function finds below itself, or above itself by fewer than these bytes, was left
//! behind.

use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use crate::stack::alternate_stack;

/// The fewest bytes that the kernel puts between an interrupted frame and the handler's: the red
/// zone, the registers, and the state of the floating-point unit.
const FRAME: usize = 128 + 256 + 512;

/// The mark. If all its bytes are zero, no mark is set.
#[derive(Default)]
#[repr(transparent)]
pub struct Mark(AtomicUsize);

/// Removes the mark when it is dropped.
pub struct Marked<'a>(&'a Mark);

impl Mark {
    /// Sets the mark. `None` if it is set already: the caller is a signal handler that interrupted
    /// the change.
    ///
    /// Only the thread that the mark belongs to, and its signal handlers, may call this.
    #[inline]
    #[must_use = "the mark is removed when the returned value is dropped"]
    pub fn set(&self) -> Option<Marked<'_>> {
        let found = self.0.load(Ordering::Relaxed);
        let here = stack_pointer();
        if found != 0 && !was_left(found, here) {
            return None;
        }
        self.0.store(here, Ordering::Relaxed);
        // Only signal handlers of this thread look at the mark.
        compiler_fence(Ordering::SeqCst);
        Some(Marked(self))
    }

    /// Whether the caller has interrupted a change.
    pub fn is_set(&self) -> bool {
        let found = self.0.load(Ordering::Relaxed);
        found != 0 && !was_left(found, stack_pointer())
    }

    /// Removes the mark, whichever function set it.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.clear();
    }
}

/// Whether the function that set the mark has left its frame without removing the mark.
///
/// Addresses can only be compared if both are on the same stack. On the alternate signal stack, a
/// handler may have interrupted any function, and is assumed to have interrupted the change. A mark
/// that was set on that stack was left behind if the thread is elsewhere now. If a thread's
/// alternate stack disarms itself (`SS_AUTODISARM`), the kernel doesn't report whether the thread
/// is on it.
#[cold]
fn was_left(mark: usize, here: usize) -> bool {
    let alternate = alternate_stack();
    if alternate.ss_flags & libc::SS_ONSTACK != 0 {
        return false;
    }
    let offset = mark.wrapping_sub(alternate.ss_sp.addr());
    offset < alternate.ss_size || here > mark - FRAME
}

#[inline(always)]
fn stack_pointer() -> usize {
    let here: usize;
    // SAFETY: reads a register.
    unsafe {
        asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    here
}

#[cfg(test)]
mod tests {
    use super::{FRAME, Mark};

    /// Runs an action further down the stack, by more bytes than a handler's frame takes.
    #[inline(never)]
    fn below<R>(action: impl FnOnce() -> R) -> R {
        let room = core::hint::black_box([0_u8; 4 * FRAME]);
        let result = action();
        core::hint::black_box(room);
        result
    }

    #[test]
    fn a_handler_that_interrupts_a_change_finds_the_mark() {
        let mark = Mark::default();
        assert!(!mark.is_set());
        let marked = mark.set();
        assert!(marked.is_some());
        assert!(below(|| mark.is_set() && mark.set().is_none()));
        drop(marked);
        assert!(below(|| !mark.is_set() && mark.set().is_some()));
    }

    #[test]
    fn a_mark_that_was_jumped_over_holds_up_nobody() {
        let mark = Mark::default();
        // The state after a jump out of a handler.
        below(|| core::mem::forget(mark.set()));
        assert!(!mark.is_set());
        assert!(mark.set().is_some());
    }
}
