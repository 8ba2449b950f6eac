//! The locks of a window: acquires and releases the lock of one target, or of all.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use syncline::memory::Memory;

use super::{
    BUSY, EXCLUSIVE, EXCLUSIVE_LATER, FREE, SHARED, SHARED_LATER, Target, UNCHECKED, Window,
};
use crate::errors::{owner_died, rank_gone};
use crate::library::SUCCESS;
use crate::locks::Refusal;
use crate::segment::Segment;

impl Window {
    /// `MPI_Win_lock`.
    pub fn lock(&self, kind: c_int, rank: c_int, assert: c_int) -> c_int {
        self.lock_until(kind, rank, assert, None, &mut false)
    }

    /// `MPI_Win_lock` with an optional deadline on the segments' clock, until which it waits at
    /// most. `taken` becomes true if the lock is acquired, if it is deferred until something is
    /// sent, or if none is needed (`MPI_MODE_NOCHECK`, `MPI_PROC_NULL`).
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
        } else if self.made.deferred && number != self.rank && deadline.is_none() {
            if exclusive { EXCLUSIVE_LATER } else { SHARED_LATER }
        } else {
            // SAFETY: by the target's state, this rank does not use the target's lock otherwise.
            let acquired = unsafe { self.acquire(number, exclusive, deadline) };
            if acquired != Ok(true) {
                target.state.store(FREE, Release);
                return acquired.map_or_else(|why| self.refused(why), |_| SUCCESS);
            }
            if exclusive { EXCLUSIVE } else { SHARED }
        };
        *taken = true;
        target.state.store(state, Release);
        self.locked(number, state)
    }

    /// Acquires a deferred lock, because something will be sent now. Returns an error if that
    /// fails, and also if an owner has died; in the second case the lock is held.
    #[cold]
    pub(super) fn acquire_now(&self, number: usize, target: &Target) -> c_int {
        loop {
            let state = target.state.load(Acquire);
            let exclusive = state == EXCLUSIVE_LATER;
            match state {
                SHARED_LATER | EXCLUSIVE_LATER => {}
                // Another thread of this rank acquires it now.
                BUSY => {
                    Segment::yield_now();
                    continue;
                }
                _ => return SUCCESS,
            }
            if !self.step(&target.state, state, BUSY) {
                continue;
            }
            // SAFETY: the reason in `lock_until` applies.
            if let Err(why) = unsafe { self.acquire(number, exclusive, None) } {
                target.state.store(state, Release);
                return self.refused(why);
            }
            let state = if exclusive { EXCLUSIVE } else { SHARED };
            target.state.store(state, Release);
            return self.locked(number, state);
        }
    }

    #[cold]
    fn refused(&self, why: Refusal) -> c_int {
        self.error(match why {
            Refusal::Unsupported => self.made.mpi.err_unsupported_operation,
            Refusal::Gone => rank_gone().code,
        })
    }

    /// Acquires the lock of a part. Returns `false` if the deadline came first, or if the server
    /// had no room for the request.
    ///
    /// # Safety
    ///
    /// The caller promises what [`Locks::acquire`] requires.
    #[inline]
    unsafe fn acquire(
        &self,
        number: usize,
        exclusive: bool,
        deadline: Option<Duration>,
    ) -> Result<bool, Refusal> {
        // SAFETY: our caller's promise.
        unsafe {
            if let Some(deadline) = deadline {
                return self.made.locks.acquire_until(number, exclusive, deadline);
            }
            self.made.locks.acquire(number, exclusive)?;
        }
        Ok(true)
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

    /// The error code of a call that has just locked a part. It reports whether an owner has died.
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
        if state >= SHARED_LATER {
            // Nothing was sent, so the deferred lock was never acquired.
            target.state.store(FREE, Release);
            return SUCCESS;
        }
        // If the flush fails, its error is returned, but the lock is still released, since other
        // ranks may wait for the lock.
        let flushed = self.flush_sent(rank, target);
        let ordered = self.order(number, state);
        if state != UNCHECKED {
            // SAFETY: the state shows that the lock is held, and in which mode.
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
            if let Err(why) = self.made.locks.acquire_all() {
                self.all.store(FREE, Release);
                return self.refused(why);
            }
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
}
