//! Completion of what was sent: flushes, and the order of copies and of a rank's own loads and
//! stores with the accesses of other ranks.
//!
//! Everything sent is complete at its target before a lock is released: an unlock flushes. A rank's
//! own loads and stores are ordered by the lock's words if there is only one kind of memory
//! (`MPI_WIN_UNIFIED`), else by `MPI_Win_sync`. Copies are complete when they return, and a flush
//! orders them before this rank's later loads.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

use super::{FREE, Target, UNCHECKED, Window};
use crate::library::{SUCCESS, below, drive};

/// After this many steps without the MPI library, its progress is driven once: what a rank polls
/// for may need the rank's own progress.
const STEPS: u32 = 64;

impl Window {
    /// `MPI_Win_flush`; with `local`, `MPI_Win_flush_local`.
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
        // Relaxed: operations that another thread sends meanwhile are not waited for.
        target.sent.store(false, Relaxed);
        // SAFETY: as above.
        let code = unsafe { below::PMPI_Win_flush(rank, self.made.handle) };
        self.order_copies();
        code
    }

    /// `MPI_Win_flush_all`; with `local`, `MPI_Win_flush_local_all`.
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

    pub(super) fn flush_sent(&self, rank: c_int, target: &Target) -> c_int {
        // Relaxed: set by this thread, or by one that the program has ordered before it.
        if !target.sent.load(Relaxed) {
            return SUCCESS;
        }
        target.sent.store(false, Relaxed);
        // SAFETY: a live window in an epoch, and a rank of it.
        unsafe { below::PMPI_Win_flush(rank, self.made.handle) }
    }

    /// Whether everything for a target since its last flush was copied, not sent by the library
    /// below.
    pub(super) fn only_copied(&self, target: &Target) -> bool {
        // Relaxed: set by this thread, or by one that the program has ordered before it.
        self.made.parts.is_some() && !target.sent.load(Relaxed)
    }

    /// Orders earlier copies before this rank's later loads.
    pub(super) fn order_copies(&self) {
        if self.made.parts.is_none() {
            return;
        }
        // With several threads, one would clear what another has just set.
        if self.made.threads || self.unordered.load(Relaxed) {
            self.unordered.store(false, Relaxed);
            // SeqCst: pairs with the same fence of another rank. Of two ranks, at least one sees
            // what the other has copied before its fence.
            fence(SeqCst);
        }
        self.drive_now_and_then();
    }

    /// Drives progress once per [`STEPS`] steps that need none.
    pub(super) fn drive_now_and_then(&self) {
        // Relaxed: a thread that loses another's step drives progress a little later.
        let steps = self.steps.load(Relaxed).wrapping_add(1);
        self.steps.store(steps, Relaxed);
        if steps.is_multiple_of(STEPS) {
            drive();
        }
    }

    /// At either end of an epoch, orders copies, and the rank's loads and stores to its own part,
    /// with the accesses of other ranks, as far as the Acquire and Release of a lock's words don't.
    pub(super) fn order(&self, number: usize, state: u8) -> c_int {
        if state == UNCHECKED {
            // SeqCst: replaces the lock; pairs with the fence or lock of the rank that the program
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
}
