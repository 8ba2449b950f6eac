//! A receiver as one of several that a thread waits for: `select.rs` says how.

use super::bell::Bell;
use super::raw::Look;
use crate::memory::{Memory, Native};
use crate::wait::{Park, Wait};

/// What a [`Select`](super::Select) can wait for: a [`Receiver`](super::Receiver) or an
/// [`Inbox`](super::Inbox), whose waiting policy is `W`.
pub trait Selectable<W: Wait = Park, M: Memory = Native> {
    /// Whether there is a message.
    #[doc(hidden)]
    fn look(&mut self) -> Look;

    /// What the receiver sleeps on.
    #[doc(hidden)]
    fn bell(&self) -> &Bell<M>;
}
