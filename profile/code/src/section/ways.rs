//! The results of following the paths from an acquisition, and the release that ends it.
//!
//! The argument of a release shows which lock it releases. If that address can't be compared with
//! the acquisition's, releases are counted against the acquisitions on the way: with two locks
//! taken, the second release of an unknown lock is the end.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{is_guard_begin, is_guard_end};
use super::state::{RDI, State};
use super::value::Value;

/// An address and the number of locks taken on the way there.
pub type Point = (u64, u8);

/// The results of all paths.
#[derive(Default)]
pub struct Ways {
    /// The state before each point.
    pub states: BTreeMap<Point, State>,
    /// From each point to the next ones.
    pub edges: BTreeMap<Point, Vec<Point>>,
    /// Addresses of the instructions that acquire or release, which are no part of the work.
    pub ends: BTreeSet<u64>,
    /// Functions that are called.
    pub calls: BTreeSet<String>,
    /// Ways that end with the release.
    pub released: usize,
    /// Ways on which the function returns with the lock held.
    pub returned: usize,
    /// Whether a path could not be followed.
    pub lost: bool,
}

/// The acquisition whose section is followed.
pub struct Acquisition {
    /// The lock, as it was passed to the function that takes it; `None` if that is not known.
    pub lock: Option<Value>,
    /// Whether the argument is a guard, which knows the lock.
    pub guard: bool,
}

impl Acquisition {
    /// The acquisition by the state before the call of this function.
    pub fn of(name: Option<&str>, before: &State) -> Acquisition {
        // OpenMP's critical sections are distinguished by their functions.
        let told = !name.is_some_and(|name| name.starts_with("GOMP_"));
        let lock = told.then(|| before.register(RDI));
        Acquisition { lock, guard: name.is_some_and(is_guard_begin) }
    }

    /// Whether a release by this function with this argument is the end of the section,
    /// with this many locks taken on the way.
    pub fn ends(&self, name: &str, argument: Value, nested: u8) -> bool {
        let Some(lock) = self.lock else { return nested == 0 };
        // A guard and a lock have different addresses, which can't be compared.
        let other = self.guard == is_guard_end(name) && lock.differs(argument);
        lock == argument || !other && nested == 0
    }
}
