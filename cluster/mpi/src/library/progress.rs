//! How a rank that waits lets MPI make progress.
//!
//! MPI libraries make progress only while one of their functions runs. A rank that holds a lock and
//! flushes may need its target to make progress, while the target waits for this very lock. So a
//! rank that waits regularly queries the state of a request that never completes. The standard says
//! that this query makes progress, that any number of threads may make it at the same time, and
//! that it does not touch the program's messages. A probe for messages (`MPI_Iprobe`) is not
//! enough: MPICH makes no progress if a process probes for messages to itself, and Open MPI makes
//! none if the probe finds a message.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::below::{self, SUCCESS};
use super::table::constants;
use super::word::Word;

/// A generalized request. Only this library, which has made it, could complete it, and never does.
static NEVER: OnceLock<Option<Word>> = OnceLock::new();

/// Makes the request that [`drive`] queries, unless it exists. MPI must be initialized.
pub fn prepare() {
    let Some(mpi) = constants() else { return };
    NEVER.get_or_init(|| {
        let mut request: Word = 0;
        // SAFETY: the three functions do nothing. The handle is written to a word that has room for
        // either form.
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

/// Lets the MPI library make progress.
pub fn drive() {
    let (Some(mpi), Some(Some(never))) = (constants(), NEVER.get()) else { return };
    let mut done = 0;
    // SAFETY: the request is live, `done` is written, and no status is requested.
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
