//! A window under a scheme, as this rank uses it: which targets it holds, to which of them something
//! was sent since they were flushed, and whether the epoch of the library below is open.
//!
//! ```text
//!   lock    MPI_Win_lock, unlock and their like
//!   send    operations to targets that are locked
//!   flush   when what was sent is complete
//!   epoch   the epoch of the library below
//!
//!   target   FREE -> BUSY -> SHARED | EXCLUSIVE | UNCHECKED -> BUSY -> FREE
//!                  FREE -> .._LATER -> BUSY -> SHARED | EXCLUSIVE, or back to FREE
//! ```
//!
//! `BUSY` is a target that a thread of the rank is acquiring or releasing; a second thread that comes
//! for it misuses the window. `UNCHECKED` is held by `MPI_MODE_NOCHECK`, with which the program says
//! that nobody is in the way, and so without a lock. `SHARED_LATER` and `EXCLUSIVE_LATER` are not
//! acquired before something is sent (`message-deferred`). All targets at once have a state of their own.

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
/// To be acquired when something is sent.
const SHARED_LATER: u8 = 5;
const EXCLUSIVE_LATER: u8 = 6;

/// What a window is, once it is made.
pub struct Made {
    /// The library's handle.
    pub handle: Word,
    /// What that library's constants are.
    pub mpi: &'static Constants,
    /// The scheme that its locks are of.
    pub scheme: Scheme,
    /// The locks, as this rank uses them.
    pub locks: Arc<dyn Locks>,
    /// All ranks' memory, where it is mapped here.
    pub parts: Option<Parts>,
    /// Its number at this process's server, if other ranks ask that for locks.
    pub served: Option<u64>,
    /// A lock of another rank's part is not acquired before something is sent there.
    pub deferred: bool,
    /// Made by `MPI_Win_allocate`, and shared below.
    pub shared_below: bool,
    /// A rank's own loads and stores and what others send to it are of one memory.
    pub unified: bool,
    /// Threads of the rank may use it at once.
    pub threads: bool,
}

/// A window under a scheme.
pub struct Window {
    /// How it was made.
    pub made: Made,
    rank: usize,
    targets: Box<[Target]>,
    all: AtomicU8,
    /// Whether the epoch of the library below is open; changed under `opening`.
    open: AtomicBool,
    opening: Mutex<()>,
    /// Something was put by copying since copies were last ordered.
    unordered: AtomicBool,
    /// How many steps there were without the library; about, since threads may miss some.
    steps: AtomicU32,
}

#[derive(Default)]
struct Target {
    state: AtomicU8,
    /// Something was sent since the last flush.
    sent: AtomicBool,
}

impl Window {
    /// A window of this many ranks, which nobody has locked yet.
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

    /// Whether some target is held or acquired.
    fn holds_some(&self) -> bool {
        // Relaxed: of misuse by threads at once, not all is noticed.
        self.targets.iter().any(|target| target.state.load(Relaxed) != FREE)
    }

    /// Changes a state if it is as expected.
    #[inline]
    fn step(&self, state: &AtomicU8, from: u8, to: u8) -> bool {
        if self.made.threads {
            // AcqRel: pairs with the Release stores of the threads that gave the state back.
            return state.compare_exchange(from, to, AcqRel, Relaxed).is_ok();
        }
        // Relaxed: calls come one after the other, and the program sees to their order.
        let is_so = state.load(Relaxed) == from;
        if is_so {
            state.store(to, Relaxed);
        }
        is_so
    }

    /// Tells the window's error handler of a misuse.
    #[cold]
    pub fn error(&self, class: c_int) -> c_int {
        // SAFETY: a live window.
        unsafe { below::PMPI_Win_call_errhandler(self.made.handle, class) };
        class
    }
}
