//! A receiver as one of several that a thread waits for: `select.rs` says how.

use super::bell::Bell;
use super::raw::Look;
use crate::memory::{Memory, Native};
use crate::wait::{Park, Wait};

/// A receiving end that a [`Select`](super::Select) can wait for: a [`Receiver`](super::Receiver)
/// or an [`Inbox`](super::Inbox), whose waiting policy is `W`.
pub trait Selectable<W: Wait = Park, M: Memory = Native> {
    /// Whether there is a message.
    #[doc(hidden)]
    fn look(&mut self) -> Look;

    /// The bell on which the receiver sleeps.
    #[doc(hidden)]
    fn bell(&self) -> &Bell<M>;
}
