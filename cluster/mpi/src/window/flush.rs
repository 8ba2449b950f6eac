//! When operations are complete: flushes, and how copies and a rank's own loads and stores are
//! ordered with the accesses of other ranks.
//!
//! An unlock flushes before it releases the lock, so everything that was sent is complete at its
//! target then. A rank's own loads and stores are ordered by the lock's words if the window has one
//! kind of memory (`MPI_WIN_UNIFIED`), and otherwise by `MPI_Win_sync`. Copies are complete when
//! they return, and a flush orders them before this rank's later loads.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

use super::{FREE, Target, UNCHECKED, Window};
use crate::library::{SUCCESS, below, drive};

/// Of the calls that need no call of the MPI library, one in this many still lets MPI make
/// progress: the program may be polling for something that needs this rank's progress.
const STEPS: u32 = 64;

impl Window {
    /// `MPI_Win_flush` or, if `local` is true, `MPI_Win_flush_local`.
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
            // SAFETY: the window exists, and has this rank.
            return unsafe { below::PMPI_Win_flush_local(rank, self.made.handle) };
        }
        // Relaxed: a flush need not wait for an operation that another thread sends meanwhile.
        target.sent.store(false, Relaxed);
        // SAFETY: as above.
        let code = unsafe { below::PMPI_Win_flush(rank, self.made.handle) };
        self.order_copies();
        code
    }

    /// `MPI_Win_flush_all` or, if `local` is true, `MPI_Win_flush_local_all`.
    pub fn flush_all(&self, local: bool) -> c_int {
        if self.all.load(Relaxed) == FREE && !self.holds_some() {
            return self.error(self.made.mpi.err_rma_sync);
        }
        if self.targets.iter().all(|target| self.only_copied(target)) {
            self.order_copies();
            return SUCCESS;
        }
        if local {
            // SAFETY: the window exists.
            return unsafe { below::PMPI_Win_flush_local_all(self.made.handle) };
        }
        // Relaxed: the reason in `flush` applies.
        self.targets.iter().for_each(|target| target.sent.store(false, Relaxed));
        // SAFETY: the window exists.
        let code = unsafe { below::PMPI_Win_flush_all(self.made.handle) };
        self.order_copies();
        code
    }

    pub(super) fn flush_sent(&self, rank: c_int, target: &Target) -> c_int {
        // Relaxed: the flag was set by this thread, or by a thread that the program has ordered
        // before this one.
        if !target.sent.load(Relaxed) {
            return SUCCESS;
        }
        target.sent.store(false, Relaxed);
        // SAFETY: the window exists, is in an epoch, and has this rank.
        unsafe { below::PMPI_Win_flush(rank, self.made.handle) }
    }

    /// Whether all operations on a target since its last flush were copies, so that the MPI library
    /// has sent nothing.
    pub(super) fn only_copied(&self, target: &Target) -> bool {
        // Relaxed: the flag was set by this thread, or by a thread that the program has ordered
        // before this one.
        self.made.parts.is_some() && !target.sent.load(Relaxed)
    }

    /// Orders earlier copies before this rank's later loads.
    pub(super) fn order_copies(&self) {
        if self.made.parts.is_none() {
            return;
        }
        // If there are several threads, the flag is not used, since one thread would clear what
        // another has just set.
        if self.made.threads || self.unordered.load(Relaxed) {
            self.unordered.store(false, Relaxed);
            // SeqCst: pairs with this fence in another rank. Of two ranks, at least one sees what
            // the other one copied before its fence.
            fence(SeqCst);
        }
        self.drive_now_and_then();
    }

    /// Makes MPI progress once in [`STEPS`] calls that need none.
    pub(super) fn drive_now_and_then(&self) {
        // Relaxed: if a thread overwrites another's step, progress is only made a little later.
        let steps = self.steps.load(Relaxed).wrapping_add(1);
        self.steps.store(steps, Relaxed);
        if steps.is_multiple_of(STEPS) {
            drive();
        }
    }

    /// Called at the beginning and the end of an epoch. If the Acquire and Release of the lock's
    /// words do not suffice, this orders copies, and the rank's loads and stores to its own part,
    /// relative to the accesses of other ranks.
    pub(super) fn order(&self, number: usize, state: u8) -> c_int {
        if state == UNCHECKED {
            // SeqCst: replaces the lock. The fence pairs with the fence or lock of another rank,
            // which the program has ordered before or after this one.
            fence(SeqCst);
        }
        if number != self.rank {
            return SUCCESS;
        }
        if self.made.unified {
            self.drive_now_and_then();
            return SUCCESS;
        }
        // SAFETY: the window exists, and is in an epoch.
        unsafe { below::PMPI_Win_sync(self.made.handle) }
    }
}
