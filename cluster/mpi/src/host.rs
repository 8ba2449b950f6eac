//! Windows whose memory is mapped at all ranks: how they are made, and how they are accessed by
//! copying.
//!
//! A window of `MPI_Win_allocate` whose ranks are on one host is made by `MPI_Win_allocate_shared`
//! below, with each rank's part on pages of its own. Some windows of the MPI libraries can't be
//! made so; then the program's own call is made after all.
//!
//! A put or get of basic datatypes is then a copy of bytes, which is complete when it returns. All
//! other operations go to the MPI library, including accumulates: these are atomic with respect to
//! each other because one library performs them all.

use std::ffi::c_int;
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::library::{Constants, SUCCESS, Word, below};

/// The arguments of an `MPI_Put` or `MPI_Get`.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Whether data moves to the target; otherwise it moves from the target.
    pub put: bool,
    /// The address of the caller's memory.
    pub origin: Word,
    /// The number of elements there.
    pub count: isize,
    /// The type of these elements.
    pub kind: Word,
    /// The position in the target's part, in the part's displacement units.
    pub at: isize,
    /// The number of elements there.
    pub target_count: isize,
    /// The type of these elements.
    pub target_kind: Word,
}

/// The parts of a window, mapped into this process.
#[derive(Debug)]
pub struct Parts(Box<[Part]>);

#[derive(Debug)]
struct Part {
    base: usize,
    size: usize,
    unit: usize,
}

impl Parts {
    /// Queries the parts of a shared window of this many ranks.
    pub fn of(window: Word, ranks: c_int) -> Option<Parts> {
        let part = |rank| {
            let (mut size, mut unit, mut base) = (0, 0, 0);
            // SAFETY: a window of shared memory and a rank of it; three values are written.
            let code = unsafe {
                let size = &raw mut size;
                below::PMPI_Win_shared_query(window, rank, size, &raw mut unit, &raw mut base)
            };
            let (size, unit) = (usize::try_from(size).ok()?, usize::try_from(unit).ok()?);
            (code == SUCCESS).then_some(Part { base, size, unit })
        };
        (0..ranks).map(part).collect::<Option<_>>().map(Parts)
    }

    /// Moves elements of these sizes. Returns `false` without an effect if copying is not possible;
    /// then the MPI library gets the call, and reports any error.
    ///
    /// # Safety
    ///
    /// The caller's memory is as `it` says, the caller may access this part now, and the rank
    /// exists.
    pub unsafe fn copy(&self, rank: usize, it: &Transfer, sizes: (usize, usize)) -> bool {
        let part = &self.0[rank];
        let bytes = |count: isize, size: usize| usize::try_from(count).ok()?.checked_mul(size);
        let Some(length) = bytes(it.count, sizes.0).filter(|length| *length != 0) else {
            return false;
        };
        let at = bytes(it.at, part.unit).unwrap_or(usize::MAX);
        let is_inside = at <= part.size && length <= part.size - at;
        if !is_inside || bytes(it.target_count, sizes.1) != Some(length) || it.origin == 0 {
            return false;
        }
        let there = part.base + at;
        let (from, to) = if it.put { (it.origin, there) } else { (there, it.origin) };
        // SAFETY: there are this many bytes in the part, which is mapped here, and in the caller's
        // memory. MPI's rules forbid other processes to access them at the same time.
        unsafe { copy(with_exposed_provenance(from), with_exposed_provenance_mut(to), length) };
        true
    }
}

/// Copies bytes; the ranges may overlap. Another thread never sees half of an aligned word of 4 or
/// 8 bytes that is copied alone.
///
/// # Safety
///
/// Same requirements as [`ptr::copy`].
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    let is_aligned = (from.addr() | to.addr()) & (length - 1) == 0;
    // SAFETY: our caller's promise; the words are aligned. Memory that is only read may be
    // read-only: a load of a word is one instruction that only reads. Relaxed: a lock or a fence
    // orders the copy.
    unsafe {
        match length {
            8 if is_aligned => {
                let word = AtomicU64::from_ptr(from.cast_mut().cast()).load(Relaxed);
                AtomicU64::from_ptr(to.cast()).store(word, Relaxed);
            }
            4 if is_aligned => {
                let word = AtomicU32::from_ptr(from.cast_mut().cast()).load(Relaxed);
                AtomicU32::from_ptr(to.cast()).store(word, Relaxed);
            }
            _ => ptr::copy(from, to, length),
        }
    }
}

/// Calls `make` to make a shared window, with an Info that lets each rank's part begin at a page.
/// Returns the error of `make`, if any, regardless of the communicator's error handler.
pub fn make_shared(
    mpi: &Constants,
    info: Word,
    comm: Word,
    make: impl FnOnce(Word) -> c_int,
) -> c_int {
    let (mut handler, mut own) = (0, 0);
    let is_null = mpi.handle(info) == mpi.info_null;
    // SAFETY: a live communicator, on which no other collective call runs meanwhile; the words have
    // room for either kind of handle. The Info is live or null, and the strings are terminated.
    unsafe {
        let copied = if is_null {
            below::PMPI_Info_create(&raw mut own)
        } else {
            below::PMPI_Info_dup(info, &raw mut own)
        };
        if copied != SUCCESS {
            return copied;
        }
        below::PMPI_Info_set(own, c"alloc_shared_noncontig".as_ptr(), c"true".as_ptr());
        below::PMPI_Comm_get_errhandler(comm, &raw mut handler);
        below::PMPI_Comm_set_errhandler(comm, mpi.errors_return);
        let code = make(own);
        below::PMPI_Comm_set_errhandler(comm, handler);
        below::PMPI_Errhandler_free(&raw mut handler);
        below::PMPI_Info_free(&raw mut own);
        code
    }
}
