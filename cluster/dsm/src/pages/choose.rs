//! Chooses the fault side of this process: the one that was requested, or the fastest that the
//! system allows.

use std::io;

use thiserror::Error;

use super::copies::Pages;
use super::guarded::Guarded;
use super::mapped::Mapped;
use super::memory::{Reserved, Where};
use super::tracked::Tracked;

/// A fault side: how accesses to absent and clean pages reach the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// userfaultfd, where the kernel records first writes.
    Tracked,
    /// userfaultfd, where first writes raise a signal.
    Guarded,
    /// SIGSEGV and `mprotect`.
    Mapped,
}

impl Side {
    /// All sides, the fastest first.
    pub const ALL: [Side; 3] = [Side::Tracked, Side::Guarded, Side::Mapped];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Side::Tracked => "uffd",
            Side::Guarded => "uffd-handler",
            Side::Mapped => "sigsegv",
        }
    }

    /// A description in one sentence.
    pub fn idea(self) -> &'static str {
        match self {
            Side::Tracked => "userfaultfd; the kernel notes what is written (Linux 6.7)",
            Side::Guarded => "userfaultfd; first writes come to the handler (Linux 5.11)",
            Side::Mapped => "SIGSEGV and mprotect, which every system has",
        }
    }

    fn make(self, bytes: usize, place: Where) -> io::Result<(Box<dyn Pages + Send>, Reserved)> {
        Ok(match self {
            Side::Tracked => {
                let (pages, reserved) = Tracked::new(bytes, place)?;
                (Box::new(pages), reserved)
            }
            Side::Guarded => {
                let (pages, reserved) = Guarded::new(bytes, place)?;
                (Box::new(pages), reserved)
            }
            Side::Mapped => {
                let (pages, reserved) = Mapped::new(bytes, place)?;
                (Box::new(pages), reserved)
            }
        })
    }
}

/// Why no fault side is available.
#[derive(Debug, Error)]
#[error("fault handler {} is not available: {reason}", side.name())]
pub struct Unavailable {
    /// The side that was tried last, and failed.
    pub side: Side,
    /// The error that the system returned for it.
    pub reason: io::Error,
}

/// The pages, and the side that was chosen for them.
pub struct Chosen {
    /// The pages.
    pub pages: Box<dyn Pages + Send>,
    /// The pages' addresses.
    pub reserved: Reserved,
    /// The side.
    pub side: Side,
    /// The sides that were tried before and are not available, each with the reason.
    pub passed: Vec<(Side, io::Error)>,
}

/// Reserves the global addresses under the requested side, or under the fastest that the system
/// allows.
///
/// # Errors
///
/// If the requested side is not available, or if none is.
pub fn choose(bytes: usize, place: Where, wanted: Option<Side>) -> Result<Chosen, Unavailable> {
    let mut passed = Vec::new();
    let sides = Side::ALL.into_iter().filter(|side| wanted.is_none_or(|wanted| wanted == *side));
    for side in sides {
        match side.make(bytes, place) {
            Ok((pages, reserved)) => return Ok(Chosen { pages, reserved, side, passed }),
            Err(reason) => passed.push((side, reason)),
        }
    }
    let (side, reason) = passed.pop().expect("there is a side");
    Err(Unavailable { side, reason })
}
