//! Windows whose memory all ranks have mapped: made so, and used by copying.
//!
//! A window of `MPI_Win_allocate` whose ranks are on one host is made by `MPI_Win_allocate_shared`
//! below, each rank's part at pages of its own. Some of the MPI libraries' windows can't be; then
//! the program's own call is made after all.
//!
//! A put or get of basic datatypes is then a copy of bytes, which is complete when it returns. All
//! else goes to the MPI library, accumulates among it: they are atomic with each other because one
//! library does them all.

use std::ffi::c_int;
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::library::{Constants, SUCCESS, Word, below};

/// What is moved, as a program says it to `MPI_Put` or `MPI_Get`.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// To the target, and not from it.
    pub put: bool,
    /// The address of the caller's memory.
    pub origin: Word,
    /// This many elements there.
    pub count: isize,
    /// Of this type.
    pub kind: Word,
    /// How far into the target's part, in its units.
    pub at: isize,
    /// This many elements there.
    pub target_count: isize,
    /// Of this type.
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
    /// The parts of a shared window of this many ranks.
    pub fn of(window: Word, ranks: c_int) -> Option<Parts> {
        let part = |rank| {
            let (mut size, mut unit, mut base) = (0, 0, 0);
            // SAFETY: a window of shared memory and a rank of it; the three are written to.
            let code = unsafe {
                let size = &raw mut size;
                below::PMPI_Win_shared_query(window, rank, size, &raw mut unit, &raw mut base)
            };
            let (size, unit) = (usize::try_from(size).ok()?, usize::try_from(unit).ok()?);
            (code == SUCCESS).then_some(Part { base, size, unit })
        };
        (0..ranks).map(part).collect::<Option<_>>().map(Parts)
    }

    /// Moves elements of this many bytes; `false`, and nothing is done, if that is not to be done
    /// by copying: what is not as it should be is the MPI library's to say.
    ///
    /// # Safety
    ///
    /// The caller's memory is as it says, and it may access this part now. There is such a rank.
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
        // SAFETY: this many bytes of the part, which is mapped here, and of the caller's memory.
        // What other processes do to them at the same time MPI's rules forbid.
        unsafe { copy(with_exposed_provenance(from), with_exposed_provenance_mut(to), length) };
        true
    }
}

/// Copies bytes, which may overlap; a word is never seen in halves.
///
/// # Safety
///
/// Same requirements as [`ptr::copy`].
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    let is_aligned = (from.addr() | to.addr()) & (length - 1) == 0;
    // SAFETY: our caller's promise; the words are aligned. What is only read may lie in memory that
    // can't be written to: a load of a word is one instruction that reads.
    // Relaxed: a lock or a fence orders it.
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

/// Calls `make` to make a shared window, with an Info that has each rank's part begin at a page. An
/// error is returned, whatever the communicator's handler is.
pub fn make_shared(
    mpi: &Constants,
    info: Word,
    comm: Word,
    make: impl FnOnce(Word) -> c_int,
) -> c_int {
    let (mut handler, mut own) = (0, 0);
    let is_null = mpi.handle(info) == mpi.info_null;
    // SAFETY: a live communicator, which others do not use for anything collective meanwhile; the
    // words have room for either kind of handle. The Info is a live one or none, and the strings are
    // strings.
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
