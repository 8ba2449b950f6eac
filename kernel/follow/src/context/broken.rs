//! Violations of the invariants.

use crate::role::Role;

/// How often each invariant was violated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// Releases of locks that were not acquired (invariant 1).
    pub unknown_releases: u64,
    /// Releases at another level (invariant 2).
    pub other_levels: u64,
    /// Locks held at a return to user space (invariant 3).
    pub held_by_user: u64,
    /// Spinlocks just acquired whose word, or bit, reads as free.
    pub contradictions: u64,
    /// Entries and lock functions without a return, and returns without an entry.
    pub lost: u64,
}

impl Broken {
    /// The sum of both counts.
    pub fn plus(self, other: Broken) -> Broken {
        Broken {
            unknown_releases: self.unknown_releases + other.unknown_releases,
            other_levels: self.other_levels + other.other_levels,
            held_by_user: self.held_by_user + other.held_by_user,
            contradictions: self.contradictions + other.contradictions,
            lost: self.lost + other.lost,
        }
    }
}

/// A violation of an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The name of the violation.
    pub what: &'static str,
    /// The lock.
    pub lock: u64,
    /// The role of the function that took or released it.
    pub role: Role,
    /// Return address of the call that took it; 0 if it was not taken.
    pub site: u64,
}

/// The most violations that a task keeps one by one.
const TOLD: usize = 16;

/// Keeps a violation, unless there are enough.
pub(super) fn tell(breaches: &mut Vec<Breach>, breach: Breach) {
    if breaches.len() < TOLD {
        breaches.push(breach);
    }
}
