//! What an end sleeps on: `news.rs` says how.

use super::selector::Selector;
use crate::memory::{Memory, Padded};

/// The bell of an end, or of an inbox. An inbox has one bell for all its channels. It is written
/// when its owner falls asleep, is rung or wakes up, and read after each message, which hits the
/// reader's own cache.
#[derive(Default)]
pub struct Bell<M: Memory> {
    /// Whether its owner sleeps.
    pub state: Padded<M::Word>,
    /// What its owner sleeps on, if it sleeps on several bells.
    pub selector: M::Link<Selector<M>>,
}
