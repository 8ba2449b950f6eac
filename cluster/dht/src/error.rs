//! Errors of operations on a table.

use syncline_fabric::{Dead, Full};
use thiserror::Error as ThisError;

/// Why an operation on a table failed.
#[derive(Clone, Copy, Debug, ThisError, PartialEq, Eq)]
pub enum Error {
    /// The key's rank is dead, and its memory is gone: the key and its value are lost.
    #[error("the keys of rank {rank} are lost: it is dead, and so is its memory")]
    Lost {
        /// The rank.
        rank: usize,
    },
    /// A rank's part has no room for an entry, or for the buckets that a resize adds. The table's
    /// entries are unchanged.
    #[error("rank {rank} has no room for {bytes} more bytes: give the ranks larger parts")]
    Full {
        /// The rank.
        rank: usize,
        /// The size that was requested, in bytes.
        bytes: usize,
    },
    /// A key or a value has 4 GiB or more.
    #[error("a key or a value of {0} bytes is too large: it may have up to 4294967295")]
    TooLong(usize),
    /// The requested size is too small, or does not fit into each part at the requested offset, or
    /// the offset is not a multiple of 64.
    #[error(
        "no table of {bytes} bytes fits at offset {at} of each part: it takes at least {least} bytes, at most {most} bytes fit there, and the offset must be a multiple of 64"
    )]
    Size {
        /// The requested offset of the table in each part.
        at: usize,
        /// The requested size in each part, in bytes. If no size was requested, this is the size of
        /// the rest of the part after the offset.
        bytes: usize,
        /// The smallest possible size, in bytes.
        least: usize,
        /// The greatest size that fits at this offset, in bytes.
        most: usize,
    },
    /// Ranks have opened the table with different options, in different modes, or with different
    /// versions of this library.
    #[error(
        "the table in rank {rank}'s part was opened with other options, in another mode, or by another version"
    )]
    Different {
        /// The rank.
        rank: usize,
    },
    /// The table's lock type is too large for the space that a part has for it.
    #[error("a lock of {0} bytes is too large for a table's parts")]
    Lock(usize),
}

impl From<Dead> for Error {
    fn from(dead: Dead) -> Error {
        Error::Lost { rank: dead.rank }
    }
}

impl From<Full> for Error {
    fn from(full: Full) -> Error {
        match full {
            Full::Full { rank, bytes } => Error::Full { rank, bytes },
            Full::Dead(dead) => dead.into(),
        }
    }
}
