//! A window's global word, by which readers of all parts and writers of any part exclude each
//! other.
//!
//! ```text
//!   16 bits  writers: they hold a part, or wait for one
//!   16 bits  readers of all parts
//! ```
//!
//! A rank that arrives adds itself. If ranks of the other kind were counted, it steps back by
//! subtracting itself. So no rank that acquires or releases overwrites the word by a store, which
//! would lose the addition of a rank that is about to step back. Neither side is preferred: a
//! stream of writers keeps readers of all parts out, and a stream of such readers keeps writers
//! out.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::memory::{Memory, Native, Word};
use crate::wait::{Wait, Yield};

/// One reader of all parts.
const READER: u32 = 1;
/// One writer.
const WRITER: u32 = 1 << 16;
/// All readers of all parts.
const READERS: u32 = WRITER - 1;
/// All writers.
const WRITERS: u32 = !READERS;

/// Makes readers of all parts of a window and writers of any part exclude each other.
///
/// The word counts up to 65,535 of each, including those that are about to step back.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Global<W: Wait = Yield, M: Memory = Native> {
    word: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: there is only a word, which may be zero.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Global<W, M> {}

impl<W: Wait, M: Memory> Global<W, M> {
    /// Waits until there is no writer, and shares all parts. Has Acquire ordering.
    #[inline]
    pub fn acquire_all(&self) {
        self.enter(READER, WRITERS);
    }

    /// Gives up this share of all parts. Has Release ordering.
    #[inline]
    pub fn release_all(&self) {
        self.leave(READER);
    }

    /// Waits until no rank shares all parts, and lets no rank share them until
    /// [`leave_as_writer`](Self::leave_as_writer). Has Acquire ordering.
    #[inline]
    pub fn enter_as_writer(&self) {
        self.enter(WRITER, READERS);
    }

    /// Lets ranks share all parts again. Has Release ordering.
    #[inline]
    pub fn leave_as_writer(&self) {
        self.leave(WRITER);
    }

    /// Like [`acquire_all`](Self::acquire_all), but only if that needs no waiting. Returns whether
    /// all parts are shared now.
    #[inline]
    pub fn try_acquire_all(&self) -> bool {
        self.try_enter(READER, WRITERS)
    }

    /// Like [`enter_as_writer`](Self::enter_as_writer), but only if that needs no waiting. Returns
    /// whether the rank has entered.
    #[inline]
    pub fn try_enter_as_writer(&self) -> bool {
        self.try_enter(WRITER, READERS)
    }

    /// Rewrites the word. No other rank may change it meanwhile.
    pub(super) fn restore(&self, writers: u32, readers: u32) {
        // Release: pairs with the Acquire of the rank that comes next, which then sees the repair's
        // earlier writes.
        self.word.store(writers * WRITER + readers * READER, Release);
    }

    #[inline]
    fn enter(&self, one: u32, others: u32) {
        if !self.try_enter(one, others) {
            self.wait(one, others);
        }
    }

    #[inline]
    fn try_enter(&self, one: u32, others: u32) -> bool {
        // Acquire: pairs with the Release in `leave` of the ranks that are no longer counted.
        if self.word.fetch_add(one, Acquire) & others == 0 {
            return true;
        }
        // Relaxed: no rank was let in by our addition. An atomic subtraction continues the release
        // sequences before it.
        self.word.fetch_sub(one, Relaxed);
        false
    }

    #[cold]
    fn wait(&self, one: u32, others: u32) {
        let mut looks = 0;
        loop {
            loop {
                looks += 1;
                W::pause_at::<M, _>(&self.word, looks);
                // Relaxed: the addition orders.
                if self.word.load(Relaxed) & others == 0 {
                    break;
                }
            }
            if self.try_enter(one, others) {
                return;
            }
        }
    }

    #[inline]
    fn leave(&self, one: u32) {
        // Release: pairs with the Acquire in `try_enter`.
        self.word.fetch_sub(one, Release);
    }
}
