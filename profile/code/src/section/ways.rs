//! The results of following the paths from an acquisition, and the recognition of the release that
//! ends its section.
//!
//! The argument of a release shows which lock it releases. If that address can't be compared with
//! the acquisition's, releases are matched with the acquisitions on the path by counting: if two
//! locks are held, the second release of an unknown lock ends the section.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{is_guard_begin, is_guard_end, is_of_thread_library};
use super::state::{RDI, State};
use super::value::Value;

/// An address, and the number of locks that are held there in addition to the section's own.
pub type Point = (u64, u8);

/// The results of following all paths.
#[derive(Default)]
pub struct Ways {
    /// The state before each point.
    pub states: BTreeMap<Point, State>,
    /// The next points of each point.
    pub edges: BTreeMap<Point, Vec<Point>>,
    /// The addresses of the instructions that release the lock, which are not part of the work.
    pub ends: BTreeSet<u64>,
    /// The names of the functions that are called.
    pub calls: BTreeSet<String>,
    /// How often the walk came to a release that ends the section.
    pub released: usize,
    /// How often the walk came to the function's return, or to a tail call, while the lock was
    /// held.
    pub returned: usize,
    /// Whether a path could not be followed.
    pub lost: bool,
}

/// The acquisition whose section is followed.
pub struct Acquisition {
    /// The first argument of the function that acquires, which is the lock or a guard. `None` if
    /// unknown, or for OpenMP's critical sections.
    pub lock: Option<Value>,
    /// Whether that argument is a guard, an object that has the lock.
    pub guard: bool,
}

impl Acquisition {
    /// The acquisition by a call of the function `name`, given the state before the call.
    pub fn of(name: Option<&str>, before: &State) -> Acquisition {
        // The releases of OpenMP's critical sections are recognised by their functions, not by an
        // argument.
        let told = !name.is_some_and(|name| name.starts_with("GOMP_"));
        let lock = told.then(|| before.register(RDI));
        Acquisition { lock, guard: name.is_some_and(is_guard_begin) }
    }

    /// Whether a release by the function `name` ends the section, given the state before the call
    /// and the number of further locks that are held there, `nested`.
    pub fn ends(&self, name: &str, before: &State, nested: u8) -> bool {
        let Some(lock) = self.lock else { return nested == 0 };
        let argument = before.register(RDI);
        if lock == argument {
            return true;
        }
        // The program's own function may get the address of a variable that has the lock's address,
        // as with `__attribute__((cleanup))`.
        if argument.is_local() && !lock.is_local() && !is_of_thread_library(name) {
            let held = before.word(argument);
            return held == Some(lock) || nested == 0 && !held.is_some_and(|it| it.differs(lock));
        }
        // If only one of the two arguments is a guard, the addresses can't be compared.
        let other = self.guard == is_guard_end(name) && lock.differs(argument);
        !other && nested == 0
    }
}
