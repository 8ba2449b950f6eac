//! The format of a request that a rank sends to another rank's server.
//!
//! ```text
//!   u8 kind | u8 exclusive | u16 0 | u32 rank | u64 window | u64 left | u32 target     little-endian
//! ```
//!
//! All ranks of a job use the same library, so the format needs no version.

use std::time::Duration;

/// The action that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Acquire the part of the target. The answer says whether that succeeded.
    Acquire,
    /// Release the part of the target.
    Release,
    /// Share all parts on the server's host if that needs no wait.
    TryAll,
    /// End the sharing of all parts on the server's host.
    ReleaseAll,
    /// Declare that the data under the lock of the target's part is consistent.
    Consistent,
}

const KINDS: [What; 5] =
    [What::Acquire, What::Release, What::TryAll, What::ReleaseAll, What::Consistent];

/// The answer to a request that acquires something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not acquired: the deadline is over, sharing all parts would need a wait, or the server has
    /// no room for the request.
    No = 0,
    /// Acquired.
    Yes = 1,
    /// Acquired, and an owner of the lock has died before.
    Orphaned = 2,
    /// The scheme does not support deadlines.
    Unsupported = 3,
    /// The server does not understand the request, or does not serve this window, rank or part.
    Unknown = 4,
}

impl Answer {
    /// Decodes an answer. A malformed one counts as [`Answer::Unknown`].
    pub fn from_bytes(bytes: &[u8]) -> Answer {
        match bytes {
            [0] => Answer::No,
            [1] => Answer::Yes,
            [2] => Answer::Orphaned,
            [3] => Answer::Unsupported,
            _ => Answer::Unknown,
        }
    }
}

/// A request to another rank's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The requested action.
    pub what: What,
    /// Whether the part is acquired exclusively. Otherwise it is shared.
    pub exclusive: bool,
    /// The rank that makes the request.
    pub rank: u32,
    /// The window's number.
    pub window: u64,
    /// The rank that the part belongs to, if the request is about one part.
    pub target: u32,
    /// The time that is left until the deadline, if there is one.
    pub left: Option<Duration>,
}

/// The size of a request in bytes.
pub const REQUEST: usize = 28;

impl Request {
    /// Encodes the request.
    pub fn to_bytes(self) -> [u8; REQUEST] {
        let kind = KINDS.iter().position(|kind| *kind == self.what).unwrap_or_default();
        let left = self.left.map_or(u64::MAX, |left| left.as_nanos().min(1 << 62) as u64);
        let mut bytes = [0; REQUEST];
        bytes[0] = kind as u8;
        bytes[1] = self.exclusive.into();
        bytes[4..8].copy_from_slice(&self.rank.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.window.to_le_bytes());
        bytes[16..24].copy_from_slice(&left.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.target.to_le_bytes());
        bytes
    }

    /// Decodes a request. Returns `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Request> {
        let bytes: &[u8; REQUEST] = bytes.try_into().ok()?;
        let short =
            |at: usize| u32::from_le_bytes([at, at + 1, at + 2, at + 3].map(|at| bytes[at]));
        let long = |at: usize| u64::from(short(at + 4)) << 32 | u64::from(short(at));
        let left = long(16);
        Some(Request {
            what: *KINDS.get(usize::from(bytes[0]))?,
            exclusive: bytes[1] != 0,
            rank: short(4),
            window: long(8),
            target: short(24),
            left: (left != u64::MAX).then(|| Duration::from_nanos(left)),
        })
    }
}
