//! A window under a scheme, as this rank uses it: which targets it holds, to which of them something
//! was sent since they were flushed, and whether the epoch of the library below is open.
//!
//! ```text
//!   target   FREE -> BUSY -> SHARED | EXCLUSIVE | UNCHECKED -> BUSY -> FREE
//! ```
//!
//! `BUSY` is the target that a thread is acquiring or releasing: a second one of the rank that comes
//! for it misuses the window. `UNCHECKED` is held by `MPI_MODE_NOCHECK`, with which the program says
//! that nobody is in the way, and so without a lock. All targets at once have a state of their own.
//!
//! What was sent is complete at its target before a lock is released: an unlock flushes. A rank's own
//! loads and stores are put in order by `MPI_Win_sync`.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};

use syncline::window::Scheme;

use crate::library::{Constants, SUCCESS, Word, below};
use crate::scheme::Locks;

const FREE: u8 = 0;
const BUSY: u8 = 1;
const SHARED: u8 = 2;
const EXCLUSIVE: u8 = 3;
const UNCHECKED: u8 = 4;

/// A window under a scheme.
pub struct Window {
    handle: Word,
    mpi: &'static Constants,
    /// The scheme that its locks are of.
    pub scheme: Scheme,
    rank: usize,
    locks: Box<dyn Locks>,
    targets: Box<[Target]>,
    all: AtomicU8,
    /// How many targets are held or acquired.
    held: AtomicUsize,
    /// Whether the epoch of the library below is open; changed under `opening`.
    open: AtomicBool,
    opening: Mutex<()>,
}

#[derive(Default)]
struct Target {
    state: AtomicU8,
    /// Something was sent since the last flush.
    sent: AtomicBool,
}

impl Window {
    /// A window of so many ranks, which nobody has locked yet.
    pub fn new(
        handle: Word,
        mpi: &'static Constants,
        scheme: Scheme,
        locks: Box<dyn Locks>,
        rank: usize,
        ranks: usize,
    ) -> Window {
        let targets = (0..ranks).map(|_| Target::default()).collect();
        Window {
            handle,
            mpi,
            scheme,
            rank,
            locks,
            targets,
            all: AtomicU8::new(FREE),
            held: AtomicUsize::new(0),
            open: AtomicBool::new(false),
            opening: Mutex::new(()),
        }
    }

    /// `MPI_Win_lock`.
    pub fn lock(&self, kind: c_int, rank: c_int, assert: c_int) -> c_int {
        let exclusive = kind == self.mpi.lock_exclusive;
        if !exclusive && kind != self.mpi.lock_shared {
            return self.error(self.mpi.err_locktype);
        }
        if rank == self.mpi.proc_null {
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.mpi.err_rank);
        };
        if self.all.load(Relaxed) != FREE || !step(&target.state, FREE, BUSY) {
            return self.error(self.mpi.err_rma_sync);
        }
        let code = self.open();
        if code != SUCCESS {
            target.state.store(FREE, Release);
            return code;
        }
        self.held.fetch_add(1, Relaxed);
        let state = if assert & self.mpi.mode_nocheck != 0 {
            UNCHECKED
        } else {
            // SAFETY: the target's state says that this rank has no other use for it.
            unsafe { self.locks.acquire(number, exclusive) };
            if exclusive { EXCLUSIVE } else { SHARED }
        };
        target.state.store(state, Release);
        self.order_own(number)
    }

    /// `MPI_Win_unlock`.
    pub fn unlock(&self, rank: c_int) -> c_int {
        if rank == self.mpi.proc_null {
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.mpi.err_rank);
        };
        let state = target.state.load(Acquire);
        if state <= BUSY || !step(&target.state, state, BUSY) {
            return self.error(self.mpi.err_rma_sync);
        }
        // What can't be flushed is told, and the lock released all the same: others wait for it.
        let flushed = self.flush_sent(rank, target);
        let ordered = self.order_own(number);
        if state != UNCHECKED {
            // SAFETY: the state has said that it is held, and how.
            unsafe { self.locks.release(number, state == EXCLUSIVE) };
        }
        self.held.fetch_sub(1, Relaxed);
        target.state.store(FREE, Release);
        if flushed == SUCCESS { ordered } else { flushed }
    }

    /// `MPI_Win_lock_all`.
    pub fn lock_all(&self, assert: c_int) -> c_int {
        if self.held.load(Relaxed) != 0 || !step(&self.all, FREE, BUSY) {
            return self.error(self.mpi.err_rma_sync);
        }
        let code = self.open();
        if code != SUCCESS {
            self.all.store(FREE, Release);
            return code;
        }
        if assert & self.mpi.mode_nocheck != 0 {
            self.all.store(UNCHECKED, Release);
        } else {
            self.locks.acquire_all();
            self.all.store(SHARED, Release);
        }
        self.order_own(self.rank)
    }

    /// `MPI_Win_unlock_all`.
    pub fn unlock_all(&self) -> c_int {
        let state = self.all.load(Acquire);
        if state <= BUSY || !step(&self.all, state, BUSY) {
            return self.error(self.mpi.err_rma_sync);
        }
        let mut code = SUCCESS;
        for (rank, target) in (0..).zip(&self.targets) {
            code = self.flush_sent(rank, target).max(code);
        }
        code = self.order_own(self.rank).max(code);
        if state == SHARED {
            self.locks.release_all();
        }
        self.all.store(FREE, Release);
        code
    }

    /// `MPI_Win_flush`, and with `local` `MPI_Win_flush_local`.
    pub fn flush(&self, rank: c_int, local: bool) -> c_int {
        if rank == self.mpi.proc_null {
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.mpi.err_rank);
        };
        if !self.reaches(number) {
            return self.error(self.mpi.err_rma_sync);
        }
        if local {
            // SAFETY: a live window, and a rank of it.
            return unsafe { below::PMPI_Win_flush_local(rank, self.handle) };
        }
        // Relaxed: a thread that sends meanwhile is not waited for.
        target.sent.store(false, Relaxed);
        // SAFETY: as above.
        unsafe { below::PMPI_Win_flush(rank, self.handle) }
    }

    /// `MPI_Win_flush_all`, and with `local` `MPI_Win_flush_local_all`.
    pub fn flush_all(&self, local: bool) -> c_int {
        if self.all.load(Relaxed) == FREE && self.held.load(Relaxed) == 0 {
            return self.error(self.mpi.err_rma_sync);
        }
        if local {
            // SAFETY: a live window.
            return unsafe { below::PMPI_Win_flush_local_all(self.handle) };
        }
        // Relaxed: as in `flush`.
        self.targets.iter().for_each(|target| target.sent.store(false, Relaxed));
        // SAFETY: a live window.
        unsafe { below::PMPI_Win_flush_all(self.handle) }
    }

    /// Notes that something is about to be sent to a rank; the error if it is not locked. Other
    /// kinds of epochs, during which ours is not open, are left to the library below.
    pub fn send(&self, rank: c_int) -> Result<(), c_int> {
        if !self.open.load(Relaxed) || rank == self.mpi.proc_null {
            return Ok(());
        }
        let Some((number, target)) = self.target(rank) else {
            return Err(self.error(self.mpi.err_rank));
        };
        if !self.reaches(number) {
            return Err(self.error(self.mpi.err_rma_sync));
        }
        // Relaxed: for this thread's own flush, and for those that it has told of it.
        target.sent.store(true, Relaxed);
        Ok(())
    }

    /// Closes the epoch of the library below, before one of another kind begins or the window goes.
    pub fn close(&self) -> c_int {
        if self.all.load(Relaxed) != FREE || self.held.load(Relaxed) != 0 {
            return self.error(self.mpi.err_rma_sync);
        }
        let _turn = self.opening.lock();
        // Relaxed: changed under the mutex only.
        if !self.open.swap(false, Relaxed) {
            return SUCCESS;
        }
        // SAFETY: a live window, whose epoch is open.
        unsafe { below::PMPI_Win_unlock_all(self.handle) }
    }

    /// Opens the epoch of the library below, unless it is open.
    #[inline]
    fn open(&self) -> c_int {
        // Acquire: pairs with the Release in `open_first`, behind the library's own call.
        if self.open.load(Acquire) { SUCCESS } else { self.open_first() }
    }

    #[cold]
    fn open_first(&self) -> c_int {
        let _turn = self.opening.lock();
        // Relaxed: changed under the mutex only.
        if self.open.load(Relaxed) {
            return SUCCESS;
        }
        // SAFETY: a live window.
        let code = unsafe { below::PMPI_Win_lock_all(self.mpi.mode_nocheck, self.handle) };
        // Release: pairs with the Acquire in `open`.
        self.open.store(code == SUCCESS, Release);
        code
    }

    fn target(&self, rank: c_int) -> Option<(usize, &Target)> {
        let number = usize::try_from(rank).ok()?;
        Some((number, self.targets.get(number)?))
    }

    /// Whether this rank may send something to that one.
    fn reaches(&self, number: usize) -> bool {
        self.targets[number].state.load(Relaxed) > BUSY || self.all.load(Relaxed) > BUSY
    }

    fn flush_sent(&self, rank: c_int, target: &Target) -> c_int {
        // Relaxed: set by this thread, or by one that the program has put in order with it.
        if !target.sent.load(Relaxed) {
            return SUCCESS;
        }
        target.sent.store(false, Relaxed);
        // SAFETY: a live window in an epoch, and a rank of it.
        unsafe { below::PMPI_Win_flush(rank, self.handle) }
    }

    /// Puts this rank's own loads and stores in order with what others send to it.
    fn order_own(&self, number: usize) -> c_int {
        if number != self.rank {
            return SUCCESS;
        }
        // SAFETY: a live window in an epoch.
        unsafe { below::PMPI_Win_sync(self.handle) }
    }

    /// Tells the window's error handler of a misuse.
    #[cold]
    pub fn error(&self, class: c_int) -> c_int {
        // SAFETY: a live window.
        unsafe { below::PMPI_Win_call_errhandler(self.handle, class) };
        class
    }
}

/// Changes a state if it is as expected.
fn step(state: &AtomicU8, from: u8, to: u8) -> bool {
    // AcqRel: pairs with the Release stores of those who gave the state back.
    state.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
}
