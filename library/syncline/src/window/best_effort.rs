//! The lock of one part of a window in one word: a count of readers and a writer's bit, with no
//! queue. A rank that can't enter undoes its change and tries again.
//!
//! ```text
//!   reader   r -> r + 1                or, if the writer's bit is set, back to r
//!   writer   0 -> WRITER -> 0          fails while any rank is there, readers that step back included
//! ```
//!
//! A reader is counted for a moment even while a writer is inside. So a writer leaves by
//! subtracting its bit: a store of zero would lose that reader, and the count would wrap around
//! when the reader steps back.
//!
//! No rank is guaranteed a turn: a stream of readers keeps writers out, and newcomers may overtake.
//! If that matters, use a queue lock. With `BACK_OFF`, pauses double after each failed try, up to a
//! limit, so that many waiters do not keep the holder from the word. Without back-off the word
//! becomes the bottleneck as the number of writers grows. The variant without back-off exists to
//! measure this.
//!
//! Source: Gerstenberger, Besta and Hoefler, "Enabling Highly-Scalable Remote Memory Access
//! Programming with MPI-3 One Sided" (SC'13), the local word. In Christgau and Schnor's description
//! a writer leaves by a store of zero.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::lock::{RawLock, RawSharedLock, TryLock, TrySharedLock};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Wait, Yield};

/// The writer's bit; the bits below count readers.
const WRITER: u32 = 1 << 31;
/// The longest pause of ranks that back off, as a power of two, in units of [`Memory::delay`]:
/// about ten microseconds.
const LONGEST: u32 = 8;

/// A lock that can be shared, with no order among its waiters.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct BestEffort<const BACK_OFF: bool, W: Wait = Yield, M: Memory = Native> {
    word: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: there is only a word, which may be zero.
unsafe impl<const BACK_OFF: bool, W: Wait, M: Memory<Word: Zeroable>> Zeroable
    for BestEffort<BACK_OFF, W, M>
{
}

// SAFETY: the word goes from 0 to `WRITER` for a writer, and `WRITER` stays in it until that writer
// subtracts it; no other exchange from 0 succeeds meanwhile. Ranks change the word by atomic
// additions, subtractions and exchanges: Release when a rank leaves, Acquire when a rank enters.
// Only a repair stores a value.
unsafe impl<const BACK_OFF: bool, W: Wait, M: Memory> RawLock for BestEffort<BACK_OFF, W, M> {
    type Memory = M;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        let mut tries = Tries::default();
        while !self.try_enter() {
            tries.step_back::<BACK_OFF, W, M>();
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        // Release: pairs with the Acquire of both acquisitions.
        self.word.fetch_sub(WRITER, Release);
    }
}

// SAFETY: a reader returns when its addition found no writer's bit, and no writer's exchange from 0
// succeeds until the reader has subtracted itself.
unsafe impl<const BACK_OFF: bool, W: Wait, M: Memory> RawSharedLock for BestEffort<BACK_OFF, W, M> {
    type SharedNode = ();

    #[inline]
    unsafe fn acquire_shared(&self, (): &()) {
        let mut tries = Tries::default();
        while !self.try_share() {
            tries.step_back::<BACK_OFF, W, M>();
        }
    }

    #[inline]
    unsafe fn release_shared(&self, (): &()) {
        // Release: pairs with the Acquire of a writer's exchange.
        self.word.fetch_sub(1, Release);
    }
}

// SAFETY: an exchange that fails has changed nothing.
unsafe impl<const BACK_OFF: bool, W: Wait, M: Memory> TryLock for BestEffort<BACK_OFF, W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.try_enter()
    }
}

// SAFETY: a rank that finds the writer's bit has subtracted itself again.
unsafe impl<const BACK_OFF: bool, W: Wait, M: Memory> TrySharedLock for BestEffort<BACK_OFF, W, M> {
    #[inline]
    unsafe fn try_acquire_shared(&self, (): &()) -> bool {
        self.try_share()
    }
}

impl<const BACK_OFF: bool, W: Wait, M: Memory> BestEffort<BACK_OFF, W, M> {
    #[inline]
    fn try_enter(&self) -> bool {
        // Acquire: pairs with the Release of both releases.
        self.word.exchange(0, WRITER, Acquire).is_ok()
    }

    #[inline]
    fn try_share(&self) -> bool {
        // Acquire: pairs with the Release of a writer's release.
        if self.word.fetch_add(1, Acquire) & WRITER == 0 {
            return true;
        }
        // Relaxed: our addition let no rank in, and an atomic subtraction continues the release
        // sequences before it.
        self.word.fetch_sub(1, Relaxed);
        false
    }

    /// Rewrites the word. No other rank may change it meanwhile.
    pub(super) fn restore(&self, readers: u32, written: bool) {
        // Release: pairs with the Acquire of the rank that comes next, which then sees the repair's
        // earlier writes.
        self.word.store(readers | if written { WRITER } else { 0 }, Release);
    }
}

/// The tries of one acquisition.
#[derive(Default)]
pub(super) struct Tries {
    pub(super) failed: u32,
    /// The sum of the pauses so far, in units of the first pause.
    waited: u32,
}

impl Tries {
    #[cold]
    pub(super) fn step_back<const BACK_OFF: bool, W: Wait, M: Memory>(&mut self) {
        let pauses = if BACK_OFF { 1 << self.failed.min(LONGEST) } else { 1 };
        if BACK_OFF {
            M::delay(pauses);
        }
        self.failed += 1;
        self.waited = self.waited.saturating_add(pauses);
        // After a long wait this pause may yield.
        W::pause::<M>(self.waited);
    }
}
