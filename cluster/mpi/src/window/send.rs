//! Operations on a target: noted, so that an unlock knows what to flush, or copied at once.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use super::{BUSY, FREE, SHARED_LATER, Target, Window};
use crate::host::Transfer;
use crate::kinds;
use crate::library::SUCCESS;

impl Window {
    /// Notes that something is about to be sent to a rank. `Err` if there is no such rank, if it is
    /// not locked, or if its deferred lock can't be acquired; the error was reported. Epochs of
    /// other kinds, during which ours is not open, are left to the library below.
    pub fn send(&self, rank: c_int) -> Result<(), c_int> {
        if let Some((_, target)) = self.reached(rank)? {
            // Relaxed: read by this thread's own flush, and by threads that it has synchronized
            // with.
            target.sent.store(true, Relaxed);
        }
        Ok(())
    }

    /// Moves data to or from a rank by copying, if possible. Otherwise notes that it is about to be
    /// sent, like [`send`](Self::send). Returns whether the data was copied.
    pub fn copy(&self, rank: c_int, it: &Transfer) -> Result<bool, c_int> {
        let Some((number, target)) = self.reached(rank)? else { return Ok(false) };
        if let Some(parts) = &self.made.parts
            && let Some(size) = kinds::size(self.made.mpi, it.kind)
            && let Some(target_size) = kinds::size(self.made.mpi, it.target_kind)
            // SAFETY: the program guarantees this for its memory, and this rank holds the target's
            // lock.
            && unsafe { parts.copy(number, it, (size, target_size)) }
        {
            if it.put {
                // Relaxed: read by this thread's own flush, and by threads that it has synchronized
                // with.
                self.unordered.store(true, Relaxed);
            }
            self.drive_now_and_then();
            return Ok(true);
        }
        // Relaxed: as in `send`.
        target.sent.store(true, Relaxed);
        Ok(false)
    }

    /// Notes that the library below has accepted a transfer that was not copied.
    #[inline]
    pub fn sent(&self, it: &Transfer) {
        if self.made.parts.is_some() {
            kinds::learn(self.made.mpi, it.kind);
            kinds::learn(self.made.mpi, it.target_kind);
        }
    }

    /// The target of an operation; `None` if our epoch is not open or there is no target
    /// (`MPI_PROC_NULL`), an error as for [`send`](Self::send).
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
                // After the report of a dead owner, the rank holds the part nevertheless.
                code if target.state.load(Relaxed) >= SHARED_LATER => return Err(code),
                _ => {}
            }
        }
        if !self.reaches(number) {
            return Err(self.error(self.made.mpi.err_rma_sync));
        }
        Ok(Some((number, target)))
    }

    /// Whether this rank may send something to that rank.
    pub(super) fn reaches(&self, number: usize) -> bool {
        self.targets[number].state.load(Relaxed) > BUSY || self.all.load(Relaxed) > BUSY
    }
}
