//! How a waiter drives MPI's progress.
//!
//! MPI libraries get on while some function of theirs runs. A rank that holds a lock and flushes may
//! need its target for that, by the time that the target waits for just this lock. So a rank that
//! waits asks now and then for the state of a request that never completes: the standard has that
//! make progress, any number of threads may do it at once, and no message of the program's is
//! touched. A look for messages (`MPI_Iprobe`) does not do: MPICH makes no progress where a process
//! looks for its own, and Open MPI none where it finds one.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::below::{self, SUCCESS};
use super::table::constants;
use super::word::Word;

/// A generalized request, which the program would have to complete, and nobody does.
static NEVER: OnceLock<Option<Word>> = OnceLock::new();

/// Makes sure that there is a request for [`drive`]. MPI is initialised.
pub fn prepare() {
    let Some(mpi) = constants() else { return };
    NEVER.get_or_init(|| {
        let mut request: Word = 0;
        // SAFETY: the functions do nothing; the handle is written to a word that has room for
        // either kind.
        let code = unsafe {
            below::PMPI_Grequest_start(
                query,
                free,
                cancel,
                0,
                (&raw mut request).expose_provenance(),
            )
        };
        (code == SUCCESS).then(|| mpi.handle(request))
    });
}

/// Lets the MPI library get on with what it has under way.
pub fn drive() {
    let (Some(mpi), Some(Some(never))) = (constants(), NEVER.get()) else { return };
    let mut done = 0;
    // SAFETY: the request is a live one, `done` is written to, and no status is asked for.
    unsafe { below::PMPI_Request_get_status(*never, &raw mut done, mpi.status_ignore) };
}

extern "C" fn query(_: *mut c_void, _: *mut c_void) -> c_int {
    SUCCESS
}

extern "C" fn free(_: *mut c_void) -> c_int {
    SUCCESS
}

extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    SUCCESS
}
