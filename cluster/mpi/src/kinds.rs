//! The sizes of basic datatypes whose elements are contiguous in memory. A put or get of such types
//! may be performed as a copy.
//!
//! A type is queried only after the MPI library has accepted it: with an invalid handle, the query
//! would be an error that the program would see. The result stays valid, since basic types are
//! never freed. Operations on derived types are left to the MPI library.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::library::{Constants, SUCCESS, Word, below};

/// A hash table of types. A slot has the type's size in the lowest byte, and the type's handle in
/// the 56 bits above it. A type is in one of `IN_A_ROW` consecutive slots. If all of these are
/// taken, a new type replaces the one in the first of them.
static KNOWN: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];
const PLACES: usize = 128;
const IN_A_ROW: usize = 4;

fn places(handle: u64) -> impl Iterator<Item = &'static AtomicU64> {
    // Fibonacci hashing: the upper seven bits of the product.
    let first = (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
    (first..first + IN_A_ROW).map(|at| &KNOWN[at % PLACES])
}

/// The size of a basic datatype in bytes, if it is known.
#[inline]
pub fn size(mpi: &Constants, kind: Word) -> Option<usize> {
    let handle = mpi.handle(kind) as u64;
    // Relaxed: the word contains all the data.
    let mut known = places(handle).map(|place| place.load(Relaxed));
    known.find(|known| known >> 8 == handle && *known != 0).map(|known| (known & 0xff) as usize)
}

/// Queries a type that the MPI library has accepted. If the type is basic and its elements are
/// contiguous, stores its size in the table.
#[cold]
pub fn learn(mpi: &Constants, kind: Word) {
    static NAMED: OnceLock<Option<c_int>> = OnceLock::new();
    let handle = mpi.handle(kind);
    // The combiner of predefined types, such as `MPI_BYTE`.
    let named = *NAMED.get_or_init(|| combiner(mpi.byte));
    if named.is_none() || combiner(handle) != named {
        return;
    }
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: a type that the library knows; all three numbers are written.
    let codes = unsafe {
        let code = below::PMPI_Type_size(handle, &raw mut size);
        (code, below::PMPI_Type_get_extent(handle, &raw mut lower, &raw mut extent))
    };
    // This excludes types such as `MPI_DOUBLE_INT`, whose elements end with padding.
    let dense = lower == 0 && extent == size as isize;
    if codes == (SUCCESS, SUCCESS) && dense && (1..256).contains(&size) && handle >> 56 == 0 {
        let handle = handle as u64;
        let known = handle << 8 | size as u64;
        // Relaxed: the word contains all the data. Another thread may take this slot at the same
        // time; then one of the two types is queried again later.
        let is_free = |place: &&AtomicU64| [0, known].contains(&place.load(Relaxed));
        if let Some(place) = places(handle).find(is_free).or_else(|| places(handle).next()) {
            place.store(known, Relaxed);
        }
    }
}

/// The combiner of a type, which says how the type was made.
fn combiner(kind: Word) -> Option<c_int> {
    let (mut integers, mut addresses, mut kinds, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a type that the library knows; the four numbers are written.
    let code = unsafe {
        below::PMPI_Type_get_envelope(
            kind,
            &raw mut integers,
            &raw mut addresses,
            &raw mut kinds,
            &raw mut combiner,
        )
    };
    (code == SUCCESS).then_some(combiner)
}
