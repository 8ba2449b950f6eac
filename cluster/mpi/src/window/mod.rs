//! A window under a scheme, as this rank uses it: which targets the rank holds, to which of them it
//! has sent something since their last flush, and whether the epoch of the library below is open.
//!
//! ```text
//!   lock    MPI_Win_lock, MPI_Win_unlock, and the variants for all targets
//!   send    operations to targets that are locked
//!   flush   when what was sent is complete
//!   epoch   the epoch of the library below
//!
//!   target   FREE -> BUSY -> SHARED | EXCLUSIVE | UNCHECKED -> BUSY -> FREE
//!            FREE -> BUSY -> .._LATER -> BUSY -> SHARED | EXCLUSIVE, or back to FREE
//! ```
//!
//! A thread of the rank is acquiring or releasing a `BUSY` target. A second thread that uses the
//! target meanwhile misuses the window, unless it sends something to a target that was `.._LATER`.
//! An `UNCHECKED` target was locked with `MPI_MODE_NOCHECK`: the program asserts that no other rank
//! conflicts, so no lock is held. `SHARED_LATER` and `EXCLUSIVE_LATER` are not acquired before
//! something is sent (`message-deferred`). All targets together have a state of their own.

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
/// Acquired when something is sent.
const SHARED_LATER: u8 = 5;
const EXCLUSIVE_LATER: u8 = 6;

/// The properties of a window that its creation decides.
pub struct Made {
    /// The library's handle.
    pub handle: Word,
    /// The constants of that library.
    pub mpi: &'static Constants,
    /// The scheme of the window's locks.
    pub scheme: Scheme,
    /// The locks, as this rank uses them.
    pub locks: Arc<dyn Locks>,
    /// All ranks' memory, if it is mapped here.
    pub parts: Option<Parts>,
    /// The window's number at this process's server, if other ranks request locks from the server.
    pub served: Option<u64>,
    /// Whether the lock of another rank's part is not acquired before something is sent there.
    pub deferred: bool,
    /// Whether the window was made by `MPI_Win_allocate` and is a shared window of the library
    /// below.
    pub shared_below: bool,
    /// Whether a rank's own loads and stores access the same memory as operations of other ranks.
    pub unified: bool,
    /// Whether threads of the rank may use it at the same time.
    pub threads: bool,
}

/// A window under a scheme.
pub struct Window {
    /// How it was made.
    pub made: Made,
    rank: usize,
    targets: Box<[Target]>,
    all: AtomicU8,
    /// Whether the epoch of the library below is open; changed while `opening` is locked.
    open: AtomicBool,
    opening: Mutex<()>,
    /// Whether something was put by copying since copies were last ordered.
    unordered: AtomicBool,
    /// The number of steps without the library below; approximate, since threads may lose some.
    steps: AtomicU32,
}

#[derive(Default)]
struct Target {
    state: AtomicU8,
    /// Whether something was sent since the last flush.
    sent: AtomicBool,
}

impl Window {
    /// A window of this many ranks, none of which is locked.
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

    /// Whether any target is held or being acquired.
    fn holds_some(&self) -> bool {
        // Relaxed: misuse by several threads at once is not always detected.
        self.targets.iter().any(|target| target.state.load(Relaxed) != FREE)
    }

    /// Changes a state from an expected value; returns whether it had that value.
    #[inline]
    fn step(&self, state: &AtomicU8, from: u8, to: u8) -> bool {
        if self.made.threads {
            // AcqRel: pairs with the Release stores of the threads that set the state back.
            return state.compare_exchange(from, to, AcqRel, Relaxed).is_ok();
        }
        // Relaxed: calls come one after the other, and the program orders them.
        let is_so = state.load(Relaxed) == from;
        if is_so {
            state.store(to, Relaxed);
        }
        is_so
    }

    /// Reports an error to the window's error handler. Returns its class or code.
    #[cold]
    pub fn error(&self, class: c_int) -> c_int {
        // SAFETY: a live window.
        unsafe { below::PMPI_Win_call_errhandler(self.made.handle, class) };
        class
    }
}
