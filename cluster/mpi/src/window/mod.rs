//! A window under a scheme, for this rank. The window knows which targets the rank holds, and to
//! which of these targets the rank has sent something since their last flush. It also knows whether
//! the epoch in the MPI library is open.
//!
//! ```text
//!   lock    MPI_Win_lock, MPI_Win_unlock, and their variants for all targets
//!   send    operations on locked targets
//!   flush   when operations are complete
//!   epoch   the epoch in the MPI library
//!
//!   the states of a target:
//!            FREE -> BUSY -> SHARED | EXCLUSIVE | UNCHECKED -> BUSY -> FREE
//!            FREE -> BUSY -> .._LATER -> BUSY -> SHARED | EXCLUSIVE, or back to FREE
//! ```
//!
//! While a target is `BUSY`, a thread of this rank acquires or releases its lock. If a second
//! thread uses the target then, the program misuses the window, except if the thread sends
//! something to a target that was `.._LATER`. An `UNCHECKED` target was locked with
//! `MPI_MODE_NOCHECK`: the program asserts that no other rank conflicts, so the rank holds no lock.
//! `SHARED_LATER` and `EXCLUSIVE_LATER` mean that the lock is acquired only when something is sent
//! (scheme `message-deferred`). The set of all targets has one more state of this kind.

mod epoch;
mod flush;
mod lock;
mod send;

use std::ffi::c_int;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32};
use std::sync::{Arc, Mutex};

use syncline::window::Scheme;

use crate::host::Parts;
use crate::library::{Constants, Word, below};
use crate::locks::Locks;

const FREE: u8 = 0;
const BUSY: u8 = 1;
const SHARED: u8 = 2;
const EXCLUSIVE: u8 = 3;
const UNCHECKED: u8 = 4;
/// The lock is acquired when something is sent.
const SHARED_LATER: u8 = 5;
const EXCLUSIVE_LATER: u8 = 6;

/// The properties of a window that are fixed when it is created.
pub struct Made {
    /// The MPI library's handle of the window.
    pub handle: Word,
    /// The constants of the MPI library.
    pub mpi: &'static Constants,
    /// The scheme of the window's locks.
    pub scheme: Scheme,
    /// The locks of the window, for this rank.
    pub locks: Arc<dyn Locks>,
    /// The parts of all ranks, if they are mapped into this process.
    pub parts: Option<Parts>,
    /// The window's number at this process's server, if ranks request locks from servers.
    pub served: Option<u64>,
    /// Whether the lock of another rank's part is acquired only when something is sent to this
    /// part.
    pub deferred: bool,
    /// Whether the program called `MPI_Win_allocate`, and the MPI library has made a shared window
    /// for it.
    pub shared_below: bool,
    /// Whether a rank's own loads and stores access the same memory as operations of other ranks.
    pub unified: bool,
    /// Whether several threads of the rank may use the window at the same time.
    pub threads: bool,
}

/// A window under a scheme.
pub struct Window {
    /// The properties that are fixed when the window is created.
    pub made: Made,
    rank: usize,
    targets: Box<[Target]>,
    all: AtomicU8,
    /// Whether the epoch in the MPI library is open. Changed only while `opening` is locked.
    open: AtomicBool,
    opening: Mutex<()>,
    /// Whether something was put by a copy since copies were last ordered.
    unordered: AtomicBool,
    /// The number of calls that needed no call of the MPI library. The number is approximate, since
    /// threads may overwrite each other's steps.
    steps: AtomicU32,
}

#[derive(Default)]
struct Target {
    state: AtomicU8,
    /// Whether something was sent to the target since its last flush.
    sent: AtomicBool,
}

impl Window {
    /// A window of this many ranks, none of whose parts is locked.
    pub fn new(made: Made, rank: usize, ranks: usize) -> Window {
        Window {
            made,
            rank,
            targets: (0..ranks).map(|_| Target::default()).collect(),
            all: AtomicU8::new(FREE),
            open: AtomicBool::new(false),
            opening: Mutex::new(()),
            unordered: AtomicBool::new(false),
            steps: AtomicU32::new(0),
        }
    }

    fn target(&self, rank: c_int) -> Option<(usize, &Target)> {
        let number = usize::try_from(rank).ok()?;
        Some((number, self.targets.get(number)?))
    }

    /// Whether this rank holds any target, or acquires one now.
    fn holds_some(&self) -> bool {
        // Relaxed: if several threads misuse the window at the same time, this is not always
        // detected.
        self.targets.iter().any(|target| target.state.load(Relaxed) != FREE)
    }

    /// Changes a state if it has the expected value. Returns whether it had that value.
    #[inline]
    fn step(&self, state: &AtomicU8, from: u8, to: u8) -> bool {
        if self.made.threads {
            // AcqRel: pairs with the Release stores of the threads that set the state back.
            return state.compare_exchange(from, to, AcqRel, Relaxed).is_ok();
        }
        // Relaxed: calls come one after another, and the program orders them.
        let is_so = state.load(Relaxed) == from;
        if is_so {
            state.store(to, Relaxed);
        }
        is_so
    }

    /// Reports an error to the window's error handler, and returns the error class or code that it
    /// was given.
    #[cold]
    pub fn error(&self, class: c_int) -> c_int {
        // SAFETY: the window exists.
        unsafe { below::PMPI_Win_call_errhandler(self.made.handle, class) };
        class
    }
}
