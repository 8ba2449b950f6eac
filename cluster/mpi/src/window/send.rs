//! Operations on a target. Operations are recorded, so that an unlock knows what to flush, or
//! performed at once as copies.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use super::{BUSY, FREE, SHARED_LATER, Target, Window};
use crate::host::Transfer;
use crate::kinds;
use crate::library::SUCCESS;

impl Window {
    /// Records that something will be sent to a rank. Returns an error if there is no such rank, if
    /// the rank is not locked, or if its deferred lock can't be acquired; the error was reported
    /// already. In an epoch of another kind our epoch is not open. Then this does nothing, and
    /// leaves the checks to the MPI library.
    pub fn send(&self, rank: c_int) -> Result<(), c_int> {
        if let Some((_, target)) = self.reached(rank)? {
            // Relaxed: the flag is read by this thread's own flush, and by threads that this one
            // has synchronized with.
            target.sent.store(true, Relaxed);
        }
        Ok(())
    }

    /// Moves data to or from a rank by a copy, if possible. Otherwise records that it will be sent,
    /// like [`send`](Self::send). Returns whether the data was copied.
    pub fn copy(&self, rank: c_int, it: &Transfer) -> Result<bool, c_int> {
        let Some((number, target)) = self.reached(rank)? else { return Ok(false) };
        if let Some(parts) = &self.made.parts
            && let Some(size) = kinds::size(self.made.mpi, it.kind)
            && let Some(target_size) = kinds::size(self.made.mpi, it.target_kind)
            // SAFETY: the program is responsible for its own memory, and this rank holds the
            // target's lock.
            && unsafe { parts.copy(number, it, (size, target_size)) }
        {
            if it.put {
                // Relaxed: the flag is read by this thread's own flush, and by threads that this
                // one has synchronized with.
                self.unordered.store(true, Relaxed);
            }
            self.drive_now_and_then();
            return Ok(true);
        }
        // Relaxed: the reason in `send` applies.
        target.sent.store(true, Relaxed);
        Ok(false)
    }

    /// Learns the datatypes of a transfer that was not copied, after the MPI library has accepted
    /// it.
    #[inline]
    pub fn sent(&self, it: &Transfer) {
        if self.made.parts.is_some() {
            kinds::learn(self.made.mpi, it.kind);
            kinds::learn(self.made.mpi, it.target_kind);
        }
    }

    /// The target of an operation. Returns `None` if our epoch is not open or there is no target
    /// (`MPI_PROC_NULL`), and an error in the cases that [`send`](Self::send) names.
    #[inline]
    fn reached(&self, rank: c_int) -> Result<Option<(usize, &Target)>, c_int> {
        if !self.open.load(Relaxed) || rank == self.made.mpi.proc_null {
            return Ok(None);
        }
        let Some((number, target)) = self.target(rank) else {
            return Err(self.error(self.made.mpi.err_rank));
        };
        if self.made.deferred && target.state.load(Relaxed) != FREE {
            match self.acquire_now(number, target) {
                SUCCESS => {}
                code if target.state.load(Relaxed) >= SHARED_LATER => return Err(code),
                // The error only reports a dead owner: the rank holds the part.
                _ => {}
            }
        }
        if !self.reaches(number) {
            return Err(self.error(self.made.mpi.err_rma_sync));
        }
        Ok(Some((number, target)))
    }

    /// Whether this rank may send something to the rank with this number.
    pub(super) fn reaches(&self, number: usize) -> bool {
        self.targets[number].state.load(Relaxed) > BUSY || self.all.load(Relaxed) > BUSY
    }
}
