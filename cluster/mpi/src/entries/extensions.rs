//! Functions that MPI does not have; `syncline_mpi.h` declares them.

use std::ffi::c_int;
use std::time::Duration;

use syncline::memory::Memory;

use crate::errors::{owner_died, rank_gone};
use crate::library::{SUCCESS, Word, below, constants};
use crate::registry::with;
use crate::segment::Segment;
use crate::window::Window;

/// Locks a rank's part if that needs no wait. `taken` becomes 1 if the part is locked now, else 0.
///
/// # Safety
///
/// A number may be written to `taken`.
#[unsafe(no_mangle)]
unsafe extern "C" fn SL_Win_trylock(
    kind: c_int,
    rank: c_int,
    assert: c_int,
    win: Word,
    taken: *mut c_int,
) -> c_int {
    // SAFETY: our caller's promise.
    unsafe { lock_within(Duration::ZERO, (kind, rank, assert), win, taken) }
}

/// Locks a rank's part, and waits for it at most until this time on the clock of `MPI_Wtime`.
/// `taken` becomes 1 if the part is locked now, else 0.
///
/// # Safety
///
/// The caller promises what [`SL_Win_trylock`] requires.
#[unsafe(no_mangle)]
unsafe extern "C" fn SL_Win_lock_until(
    kind: c_int,
    rank: c_int,
    assert: c_int,
    deadline: f64,
    win: Word,
    taken: *mut c_int,
) -> c_int {
    // SAFETY: a function without arguments.
    let left = deadline - unsafe { below::PMPI_Wtime() };
    // If the deadline is in the past or not a number, there is one attempt without waiting. Longer
    // times than about 30 years are shortened.
    let left = Duration::try_from_secs_f64(left.clamp(0.0, 1e9)).unwrap_or_default();
    // SAFETY: our caller's promise.
    unsafe { lock_within(left, (kind, rank, assert), win, taken) }
}

/// Declares that the data under a part's lock is consistent again. After an owner of the lock has
/// died, the data may be inconsistent.
#[unsafe(no_mangle)]
extern "C" fn SL_Win_consistent(rank: c_int, win: Word) -> c_int {
    under_a_scheme(win, |window| window.make_consistent(rank))
}

/// The error class for a lock whose owner has died.
#[unsafe(no_mangle)]
extern "C" fn SL_Err_owner_died() -> c_int {
    owner_died().class
}

/// The error class for a part that can't be locked any more, because its rank is on another host
/// and has died, can't be reached or does not serve the window.
#[unsafe(no_mangle)]
extern "C" fn SL_Err_rank_gone() -> c_int {
    rank_gone().class
}

unsafe fn lock_within(
    left: Duration,
    (kind, rank, assert): (c_int, c_int, c_int),
    win: Word,
    taken: *mut c_int,
) -> c_int {
    let mut is_taken = false;
    let deadline = Some(Segment::now() + left);
    let code = under_a_scheme(win, |window| {
        window.lock_until(kind, rank, assert, deadline, &mut is_taken)
    });
    // SAFETY: our caller's promise.
    unsafe { taken.write(is_taken.into()) };
    code
}

/// Calls `f` with a window under a scheme. If the window has the MPI library's own locks, this
/// reports an error.
fn under_a_scheme(win: Word, f: impl FnOnce(&Window) -> c_int) -> c_int {
    with(win, f).unwrap_or_else(|| {
        let Some(mpi) = constants() else { return !SUCCESS };
        // SAFETY: the window is the program's.
        unsafe { below::PMPI_Win_call_errhandler(win, mpi.err_unsupported_operation) };
        mpi.err_unsupported_operation
    })
}
