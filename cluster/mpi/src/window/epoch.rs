//! The epoch of the library below, `MPI_Win_lock_all` with `MPI_MODE_NOCHECK`, which stays open
//! after the first lock.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{FREE, Window};
use crate::library::{SUCCESS, below};

impl Window {
    /// Opens the epoch of the library below, unless it is open.
    #[inline]
    pub(super) fn open(&self) -> c_int {
        // Acquire: pairs with the Release in `open_first`, after the library's own call.
        if self.open.load(Acquire) { SUCCESS } else { self.open_first() }
    }

    #[cold]
    fn open_first(&self) -> c_int {
        let _turn = self.opening.lock();
        // Relaxed: changed only under the mutex.
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

    /// Closes the epoch of the library below, before one of another kind begins or the window is
    /// freed.
    pub fn close(&self) -> c_int {
        if self.all.load(Relaxed) != FREE || self.holds_some() {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let _turn = self.opening.lock();
        // Relaxed: changed only under the mutex.
        if !self.open.swap(false, Relaxed) {
            return SUCCESS;
        }
        // SAFETY: a live window, whose epoch is open.
        unsafe { below::PMPI_Win_unlock_all(self.made.handle) }
    }
}
