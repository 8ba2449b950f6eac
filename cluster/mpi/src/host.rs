//! Windows whose memory is mapped at all ranks: how they are made, and how puts and gets are
//! performed as copies.
//!
//! If all ranks are on one host, `MPI_Win_allocate` makes the window with the MPI library's
//! `MPI_Win_allocate_shared`, and each rank's part begins on its own page. The MPI libraries can't
//! make some windows in this way. For them, the program's own call is passed on.
//!
//! If all ranks' memory is mapped, a put or a get of basic datatypes is a copy of bytes, and is
//! complete when it returns. All other operations go to the MPI library. This includes all
//! accumulates: they are atomic with respect to each other because one library performs them all.

use std::ffi::c_int;
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::library::{Constants, SUCCESS, Word, below};

/// The arguments of an `MPI_Put` or `MPI_Get`.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Whether data moves from the caller to the target. Otherwise it moves from the target to the
    /// caller.
    pub put: bool,
    /// The address of the caller's memory.
    pub origin: Word,
    /// The number of elements in the caller's memory.
    pub count: isize,
    /// The datatype of these elements.
    pub kind: Word,
    /// The position in the target's part, in units of the part's displacements.
    pub at: isize,
    /// The number of elements at that position.
    pub target_count: isize,
    /// The datatype of these elements.
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
    /// Queries where the parts of a shared window are. `ranks` is the number of its ranks.
    pub fn of(window: Word, ranks: c_int) -> Option<Parts> {
        let part = |rank| {
            let (mut size, mut unit, mut base) = (0, 0, 0);
            // SAFETY: a window of shared memory, and one of its ranks. Three values are written.
            let code = unsafe {
                let size = &raw mut size;
                below::PMPI_Win_shared_query(window, rank, size, &raw mut unit, &raw mut base)
            };
            let (size, unit) = (usize::try_from(size).ok()?, usize::try_from(unit).ok()?);
            (code == SUCCESS).then_some(Part { base, size, unit })
        };
        (0..ranks).map(part).collect::<Option<_>>().map(Parts)
    }

    /// Moves elements of these sizes, in the caller's memory and in the part. If that can't be done
    /// by a copy, it returns `false` and has no effect; then the call goes to the MPI library,
    /// which also reports any error.
    ///
    /// # Safety
    ///
    /// The caller's memory is as `it` describes it, the caller may access this part now, and the
    /// rank exists.
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
        // memory. By MPI's rules, no other process accesses them at the same time.
        unsafe { copy(with_exposed_provenance(from), with_exposed_provenance_mut(to), length) };
        true
    }
}

/// Copies bytes. The ranges may overlap. If the copy is one aligned word of 4 or 8 bytes, no other
/// thread ever sees half of it.
///
/// # Safety
///
/// The caller promises what [`ptr::copy`] requires.
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    let is_aligned = (from.addr() | to.addr()) & (length - 1) == 0;
    // SAFETY: our caller's promise; the words are aligned. The source may be read-only memory,
    // which is sound because a load of a word is one instruction that only reads. Relaxed: a lock
    // or a fence orders the copy.
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

/// Calls `make` to make a shared window, with an Info object that lets each rank's part begin at a
/// page. If `make` fails, returns its error code, no matter which error handler the communicator
/// has.
pub fn make_shared(
    mpi: &Constants,
    info: Word,
    comm: Word,
    make: impl FnOnce(Word) -> c_int,
) -> c_int {
    let (mut handler, mut own) = (0, 0);
    let is_null = mpi.handle(info) == mpi.info_null;
    // SAFETY: the communicator exists, and no other collective call on it runs meanwhile. The words
    // have room for either kind of handle. The Info object exists or is null, and the strings end
    // with zero.
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
