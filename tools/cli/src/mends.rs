//! The changes that `syncline try` tries in addition to locks. These changes need no other lock.

use clap::ValueEnum;
use syncline_targets::Locks;

use crate::exec::{Placement, Variables, placed, variables};
use crate::failure::{Failure, RECORD_FAILED};

/// A change that needs no other lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mend {
    /// The C library's mutexes, but spinning before they sleep
    Spin,
    /// All threads on one socket
    OneSocket,
    /// Each thread on its own processor, near each other
    Packed,
    /// Each thread on its own processor, far from each other
    Spread,
    /// All threads on one processor
    OneProcessor,
}

impl Mend {
    /// The changes that are tried if the user names none: spinning, and the placements of
    /// [`Placement::different`].
    pub fn all_here() -> Vec<Mend> {
        let placements = Placement::different();
        let differs = |mend: &Mend| mend.placement().is_none_or(|p| placements.contains(&p));
        Mend::value_variants().iter().copied().filter(differs).collect()
    }

    /// The environment variables that make this change, and the option of `syncline exec` that does
    /// so.
    pub fn variables(self) -> Result<(Variables, String), Failure> {
        match self.placement() {
            Some(placement) => Ok((placed(placement)?, format!("--place {}", placement.name()))),
            None => {
                let locks: Locks =
                    SPIN.parse().map_err(|e: String| Failure::message(RECORD_FAILED, e))?;
                Ok((variables(&locks)?, format!("--lock {SPIN}")))
            }
        }
    }

    fn placement(self) -> Option<Placement> {
        match self {
            Mend::Spin => None,
            Mend::OneSocket => Some(Placement::OneSocket),
            Mend::Packed => Some(Placement::Packed),
            Mend::Spread => Some(Placement::Spread),
            Mend::OneProcessor => Some(Placement::OneProcessor),
        }
    }
}

const SPIN: &str = "libc-spin";
