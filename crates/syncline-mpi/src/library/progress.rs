//! How a waiter drives MPI's progress.
//!
//! MPI libraries get on while some function of theirs runs. A rank that holds a lock and flushes may
//! need its target for that, by the time that the target waits for just this lock: so whoever waits
//! looks for a message now and then, in a communicator that nobody sends to.
//!
//! The communicator is a copy of `MPI_COMM_SELF`, one for the process. One for each window would use
//! up the library's identifiers of communicators, of which MPICH has some 2,000.

use std::sync::OnceLock;

use super::{Word, below, constants};

/// The copy of `MPI_COMM_SELF`.
static QUIET: OnceLock<Word> = OnceLock::new();

/// Makes sure that there is a communicator for [`drive`]. MPI is initialised.
pub fn prepare() {
    let Some(mpi) = constants() else { return };
    QUIET.get_or_init(|| {
        let mut copy: Word = 0;
        // SAFETY: the handle is written to a word that has room for either kind.
        let code = unsafe { below::PMPI_Comm_dup(mpi.comm_self, &raw mut copy) };
        if code == super::SUCCESS { mpi.handle(copy) } else { mpi.comm_self }
    });
}

/// Lets the MPI library get on with what it has under way.
pub fn drive() {
    let (Some(mpi), Some(quiet)) = (constants(), QUIET.get()) else { return };
    let mut found = 0;
    // SAFETY: the communicator is a live one, `found` is written to, and no status is asked for.
    unsafe {
        below::PMPI_Iprobe(
            mpi.any_source,
            mpi.any_tag,
            *quiet,
            &raw mut found,
            mpi.status_ignore,
        )
    };
}
