//! Why an attempt of a transaction ended.

use core::fmt;

/// The attempt is over: pass it on with `?`, out of the transaction's closure.
///
/// Either another transaction was in the way, and the transaction runs again, or
/// [`retry`](super::Tx::retry) was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the attempt is over; pass it on with `?`"]
pub struct Stop(Why);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Conflict,
    Retry,
}

impl Stop {
    /// Another transaction was in the way.
    #[doc(hidden)]
    pub const CONFLICT: Self = Self(Why::Conflict);
    pub(super) const RETRY: Self = Self(Why::Retry);
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Conflict => "another transaction was in the way",
            Why::Retry => "the transaction waits until something that it has read changes",
        })
    }
}

impl core::error::Error for Stop {}

/// The result of a part of a transaction.
pub type Result<T> = core::result::Result<T, Stop>;
