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
//! loads and stores are put in order by the lock's own words where memory is of one kind
//! (`MPI_WIN_UNIFIED`), else by `MPI_Win_sync`. Copies ([`Parts`]) are complete when they return, and
//! a flush puts them in order with what this rank loads later.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, fence};
use std::time::Duration;

use syncline::window::Scheme;

use crate::errors::owner_died;
use crate::host::{Parts, Transfer};
use crate::kinds;
use crate::library::{Constants, SUCCESS, Word, below, drive};
use crate::scheme::Locks;

const FREE: u8 = 0;
const BUSY: u8 = 1;
const SHARED: u8 = 2;
const EXCLUSIVE: u8 = 3;
const UNCHECKED: u8 = 4;

/// After so many steps that do without the MPI library, its progress is driven once: a rank may look
/// again and again for something that comes only with progress of its own.
const STEPS: u32 = 64;

/// What a window is, once it is made.
pub struct Made {
    /// The library's handle.
    pub handle: Word,
    /// What that library's constants are.
    pub mpi: &'static Constants,
    /// The scheme that its locks are of.
    pub scheme: Scheme,
    /// The locks, as this rank uses them.
    pub locks: Box<dyn Locks>,
    /// All ranks' memory, where it is mapped here.
    pub parts: Option<Parts>,
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
    /// A window of so many ranks, which nobody has locked yet.
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

    /// `MPI_Win_lock`.
    pub fn lock(&self, kind: c_int, rank: c_int, assert: c_int) -> c_int {
        self.lock_until(kind, rank, assert, None, &mut false)
    }

    /// The same, at most until a deadline on the segments' clock if there is one; `taken` says
    /// whether it is held then.
    #[inline]
    pub fn lock_until(
        &self,
        kind: c_int,
        rank: c_int,
        assert: c_int,
        deadline: Option<Duration>,
        taken: &mut bool,
    ) -> c_int {
        *taken = false;
        let exclusive = kind == self.made.mpi.lock_exclusive;
        if !exclusive && kind != self.made.mpi.lock_shared {
            return self.error(self.made.mpi.err_locktype);
        }
        if rank == self.made.mpi.proc_null {
            *taken = true;
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.made.mpi.err_rank);
        };
        if self.all.load(Relaxed) != FREE || !self.step(&target.state, FREE, BUSY) {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let code = self.open();
        if code != SUCCESS {
            target.state.store(FREE, Release);
            return code;
        }
        let state = if assert & self.made.mpi.mode_nocheck != 0 {
            UNCHECKED
        } else {
            // SAFETY: the target's state says that this rank has no other use for it.
            let acquired = unsafe { self.acquire(number, exclusive, deadline) };
            if acquired != Some(true) {
                target.state.store(FREE, Release);
                let unsupported = self.made.mpi.err_unsupported_operation;
                return acquired.map_or_else(|| self.error(unsupported), |_| SUCCESS);
            }
            if exclusive { EXCLUSIVE } else { SHARED }
        };
        *taken = true;
        target.state.store(state, Release);
        self.locked(number, state)
    }

    /// Acquires a part. Whether it did before the deadline; `None` if the scheme knows none.
    ///
    /// # Safety
    ///
    /// As for [`Locks::acquire`].
    #[inline]
    unsafe fn acquire(
        &self,
        number: usize,
        exclusive: bool,
        deadline: Option<Duration>,
    ) -> Option<bool> {
        // SAFETY: our caller's promise.
        unsafe {
            if let Some(deadline) = deadline {
                return self.made.locks.acquire_until(number, exclusive, deadline);
            }
            self.made.locks.acquire(number, exclusive);
        }
        Some(true)
    }

    /// `SL_Win_consistent`.
    pub fn make_consistent(&self, rank: c_int) -> c_int {
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.made.mpi.err_rank);
        };
        if target.state.load(Acquire) != EXCLUSIVE {
            return self.error(self.made.mpi.err_rma_sync);
        }
        self.made.locks.make_consistent(number);
        SUCCESS
    }

    /// What is to be said of a part that has just been locked.
    #[inline]
    fn locked(&self, number: usize, state: u8) -> c_int {
        let code = self.order(number, state);
        if code == SUCCESS && state != UNCHECKED && self.made.locks.is_orphaned(number) {
            return self.error(owner_died().code);
        }
        code
    }

    /// `MPI_Win_unlock`.
    pub fn unlock(&self, rank: c_int) -> c_int {
        if rank == self.made.mpi.proc_null {
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.made.mpi.err_rank);
        };
        let state = target.state.load(Acquire);
        if state <= BUSY || !self.step(&target.state, state, BUSY) {
            return self.error(self.made.mpi.err_rma_sync);
        }
        // What can't be flushed is told, and the lock released all the same: others wait for it.
        let flushed = self.flush_sent(rank, target);
        let ordered = self.order(number, state);
        if state != UNCHECKED {
            // SAFETY: the state has said that it is held, and how.
            unsafe { self.made.locks.release(number, state == EXCLUSIVE) };
        }
        target.state.store(FREE, Release);
        if flushed == SUCCESS { ordered } else { flushed }
    }

    /// `MPI_Win_lock_all`.
    pub fn lock_all(&self, assert: c_int) -> c_int {
        if self.holds_some() || !self.step(&self.all, FREE, BUSY) {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let code = self.open();
        if code != SUCCESS {
            self.all.store(FREE, Release);
            return code;
        }
        let state = if assert & self.made.mpi.mode_nocheck != 0 {
            UNCHECKED
        } else {
            self.made.locks.acquire_all();
            SHARED
        };
        self.all.store(state, Release);
        self.order(self.rank, state)
    }

    /// `MPI_Win_unlock_all`.
    pub fn unlock_all(&self) -> c_int {
        let state = self.all.load(Acquire);
        if state <= BUSY || !self.step(&self.all, state, BUSY) {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let mut code = SUCCESS;
        for (rank, target) in (0..).zip(&self.targets) {
            code = self.flush_sent(rank, target).max(code);
        }
        code = self.order(self.rank, state).max(code);
        if state != UNCHECKED {
            self.made.locks.release_all();
        }
        self.all.store(FREE, Release);
        code
    }

    /// `MPI_Win_flush`, and with `local` `MPI_Win_flush_local`.
    pub fn flush(&self, rank: c_int, local: bool) -> c_int {
        if rank == self.made.mpi.proc_null {
            return SUCCESS;
        }
        let Some((number, target)) = self.target(rank) else {
            return self.error(self.made.mpi.err_rank);
        };
        if !self.reaches(number) {
            return self.error(self.made.mpi.err_rma_sync);
        }
        if self.only_copied(target) {
            self.order_copies();
            return SUCCESS;
        }
        if local {
            // SAFETY: a live window, and a rank of it.
            return unsafe { below::PMPI_Win_flush_local(rank, self.made.handle) };
        }
        // Relaxed: a thread that sends meanwhile is not waited for.
        target.sent.store(false, Relaxed);
        // SAFETY: as above.
        let code = unsafe { below::PMPI_Win_flush(rank, self.made.handle) };
        self.order_copies();
        code
    }

    /// `MPI_Win_flush_all`, and with `local` `MPI_Win_flush_local_all`.
    pub fn flush_all(&self, local: bool) -> c_int {
        if self.all.load(Relaxed) == FREE && !self.holds_some() {
            return self.error(self.made.mpi.err_rma_sync);
        }
        if self.targets.iter().all(|target| self.only_copied(target)) {
            self.order_copies();
            return SUCCESS;
        }
        if local {
            // SAFETY: a live window.
            return unsafe { below::PMPI_Win_flush_local_all(self.made.handle) };
        }
        // Relaxed: as in `flush`.
        self.targets.iter().for_each(|target| target.sent.store(false, Relaxed));
        // SAFETY: a live window.
        let code = unsafe { below::PMPI_Win_flush_all(self.made.handle) };
        self.order_copies();
        code
    }

    /// Notes that something is about to be sent to a rank; the error if it is not locked. Other
    /// kinds of epochs, during which ours is not open, are left to the library below.
    pub fn send(&self, rank: c_int) -> Result<(), c_int> {
        if let Some((_, target)) = self.reached(rank)? {
            // Relaxed: for this thread's own flush, and for those that it has told of it.
            target.sent.store(true, Relaxed);
        }
        Ok(())
    }

    /// Moves something to or from a rank if copying does; otherwise it is about to be sent, as for
    /// [`send`](Self::send). Whether it was copied.
    pub fn copy(&self, rank: c_int, it: &Transfer) -> Result<bool, c_int> {
        let Some((number, target)) = self.reached(rank)? else { return Ok(false) };
        if let Some(parts) = &self.made.parts
            && let Some(size) = kinds::size(self.made.mpi, it.kind)
            && let Some(target_size) = kinds::size(self.made.mpi, it.target_kind)
            // SAFETY: the program says so about its memory, and this rank holds the target's lock.
            && unsafe { parts.copy(number, it, (size, target_size)) }
        {
            if it.put {
                // Relaxed: for this thread's own flush, and for those that it has told of it.
                self.unordered.store(true, Relaxed);
            }
            self.drive_now_and_then();
            return Ok(true);
        }
        // Relaxed: as in `send`.
        target.sent.store(true, Relaxed);
        Ok(false)
    }

    /// Notes that the library below has taken a transfer that was not copied.
    #[inline]
    pub fn sent(&self, it: &Transfer) {
        if self.made.parts.is_some() {
            kinds::learn(self.made.mpi, it.kind);
            kinds::learn(self.made.mpi, it.target_kind);
        }
    }

    /// The rank that an operation is for, if our epoch is open and it is locked; the error if it is
    /// not.
    #[inline]
    fn reached(&self, rank: c_int) -> Result<Option<(usize, &Target)>, c_int> {
        if !self.open.load(Relaxed) || rank == self.made.mpi.proc_null {
            return Ok(None);
        }
        let Some((number, target)) = self.target(rank) else {
            return Err(self.error(self.made.mpi.err_rank));
        };
        if !self.reaches(number) {
            return Err(self.error(self.made.mpi.err_rma_sync));
        }
        Ok(Some((number, target)))
    }

    /// Whether all that went to a target since its last flush was copied.
    fn only_copied(&self, target: &Target) -> bool {
        // Relaxed: set by this thread, or by one that the program has put in order with it.
        self.made.parts.is_some() && !target.sent.load(Relaxed)
    }

    /// Puts copies that were made in order with what this rank loads from now on.
    fn order_copies(&self) {
        if self.made.parts.is_none() {
            return;
        }
        // Of several threads, one would clear what another has just set.
        if self.made.threads || self.unordered.load(Relaxed) {
            self.unordered.store(false, Relaxed);
            // SeqCst: pairs with the same fence of another rank; each sees what the other has
            // copied before, or is seen.
            fence(SeqCst);
        }
        self.drive_now_and_then();
    }

    /// Drives progress once for many steps that need none.
    fn drive_now_and_then(&self) {
        // Relaxed: a thread that misses another's step drives progress a little later.
        let steps = self.steps.load(Relaxed).wrapping_add(1);
        self.steps.store(steps, Relaxed);
        if steps.is_multiple_of(STEPS) {
            drive();
        }
    }

    /// Closes the epoch of the library below, before one of another kind begins or the window goes.
    pub fn close(&self) -> c_int {
        if self.all.load(Relaxed) != FREE || self.holds_some() {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let _turn = self.opening.lock();
        // Relaxed: changed under the mutex only.
        if !self.open.swap(false, Relaxed) {
            return SUCCESS;
        }
        // SAFETY: a live window, whose epoch is open.
        unsafe { below::PMPI_Win_unlock_all(self.made.handle) }
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
        let code =
            unsafe { below::PMPI_Win_lock_all(self.made.mpi.mode_nocheck, self.made.handle) };
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
        unsafe { below::PMPI_Win_flush(rank, self.made.handle) }
    }

    /// Puts copies, and of its own part this rank's loads and stores, in order with what others do,
    /// at either end of an epoch. A lock's words do that by their Acquire and Release.
    fn order(&self, number: usize, state: u8) -> c_int {
        if state == UNCHECKED {
            // SeqCst: stands in for the lock; pairs with the fence or lock of whoever the program
            // knows to come before or after.
            fence(SeqCst);
        }
        if number != self.rank {
            return SUCCESS;
        }
        if self.made.unified {
            self.drive_now_and_then();
            return SUCCESS;
        }
        // SAFETY: a live window in an epoch.
        unsafe { below::PMPI_Win_sync(self.made.handle) }
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
            // AcqRel: pairs with the Release stores of those who gave the state back.
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
