//! The object on which an end sleeps: `news.rs` says how.

use core::task::Waker;

use super::selector::Selector;
use crate::memory::{Data, Memory, Padded};

/// The bell of an end, or of an inbox. An inbox has one bell for all its channels. A bell is
/// written when its owner falls asleep, is woken through it, or wakes up. It is read after each
/// message, which hits the reader's own cache.
pub struct Bell<M: Memory> {
    /// Whether the owner sleeps, and in which way: `news.rs` has the values.
    pub state: Padded<M::Word>,
    /// The selector on which the owner sleeps, if the owner waits on several bells.
    pub selector: M::Link<Selector<M>>,
    /// Which thread may use the waker: `slot.rs` says how.
    pub slot: M::Word,
    /// Wakes the task that waits with the bell's end.
    pub waker: M::Data<Option<Waker>>,
}

// SAFETY: words and links may be shared. The slot says which thread uses the waker, which is `Send`
// and `Sync`.
unsafe impl<M: Memory> Sync for Bell<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for Bell<M> {}

impl<M: Memory> Default for Bell<M> {
    fn default() -> Self {
        Self {
            state: Padded::default(),
            selector: M::Link::default(),
            slot: M::Word::default(),
            waker: Data::new(None),
        }
    }
}
