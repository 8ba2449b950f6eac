//! The epoch that is kept open in the MPI library, `MPI_Win_lock_all` with `MPI_MODE_NOCHECK`. This
//! epoch is opened at the first lock.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{FREE, Window};
use crate::library::{SUCCESS, below};

impl Window {
    /// Opens the epoch in the MPI library, unless it is open.
    #[inline]
    pub(super) fn open(&self) -> c_int {
        // Acquire: pairs with the Release in `open_first`, which comes after the library has opened
        // the epoch.
        if self.open.load(Acquire) { SUCCESS } else { self.open_first() }
    }

    #[cold]
    fn open_first(&self) -> c_int {
        let _turn = self.opening.lock();
        // Relaxed: it is changed only while the mutex is held.
        if self.open.load(Relaxed) {
            return SUCCESS;
        }
        // SAFETY: the window exists.
        let code =
            unsafe { below::PMPI_Win_lock_all(self.made.mpi.mode_nocheck, self.made.handle) };
        // Release: pairs with the Acquire in `open`.
        self.open.store(code == SUCCESS, Release);
        code
    }

    /// Closes the epoch in the MPI library, before an epoch of another kind begins or the window is
    /// freed.
    pub fn close(&self) -> c_int {
        if self.all.load(Relaxed) != FREE || self.holds_some() {
            return self.error(self.made.mpi.err_rma_sync);
        }
        let _turn = self.opening.lock();
        // Relaxed: it is changed only while the mutex is held.
        if !self.open.swap(false, Relaxed) {
            return SUCCESS;
        }
        // SAFETY: the window exists, and its epoch is open.
        unsafe { below::PMPI_Win_unlock_all(self.made.handle) }
    }
}
