//! Creates windows with the lock scheme that their ranks request, if that is possible.
//!
//! The ranks agree on a scheme ([`Ranks`]). Then they meet, so that the ranks of each host share a
//! segment of memory ([`Meeting`]). If all ranks are on one host, `MPI_Win_allocate` makes a window
//! of shared memory, unless the Info object forbids it or the MPI library can't.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use syncline::window::Scheme;
use syncline_fabric::Process;

use crate::host::{Parts, make_shared};
use crate::hosts::{Cohort, Meeting, Spread};
use crate::library::{Constants, SUCCESS, Word, below, constants, prepare};
use crate::locks::Locks;
use crate::ranks::Ranks;
use crate::registry;
use crate::scheme::{goes_by_messages, locks};
use crate::window::{Made, Window};

/// The owner of a window's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program: each rank provides its own memory.
    Private,
    /// The MPI library allocates it at each rank.
    Allocated,
    /// The MPI library allocates it, and all ranks' memory is mapped at each rank.
    Shared,
}

/// Makes a window of the ranks of `comm`. For that it calls `make`, which writes the window's
/// handle to `window`. `make` gets the Info object to use, and whether to make a window of shared
/// memory; this is requested only for [`Kind::Allocated`].
pub fn create(
    kind: Kind,
    info: Word,
    comm: Word,
    window: Word,
    make: impl Fn(bool, Word) -> c_int,
) -> c_int {
    let Some(mpi) = constants() else { return make(false, info) };
    let mut ranks = Ranks { mpi, comm, rank: 0, count: 0 };
    // SAFETY: both numbers are written to. If `comm` is not a communicator they stay unchanged, and
    // the MPI library reports it later.
    unsafe {
        below::PMPI_Comm_rank(comm, &raw mut ranks.rank);
        below::PMPI_Comm_size(comm, &raw mut ranks.count);
    }
    let agreed = match ranks.agree(info) {
        Err(code) => return code,
        Ok(None) => return make(false, info),
        Ok(Some(agreed)) => agreed,
    };
    let number = agreed.position;
    let Some(meeting) = Meeting::of(&ranks, &agreed.places, agreed.scheme, number) else {
        return make(false, info);
    };
    let is_one_host = meeting.firsts.iter().all(|first| *first == 0);
    let served = meeting.peers.is_some().then_some(number as u64);
    let shared_below = kind == Kind::Allocated
        && agreed.host_memory
        && is_one_host
        && ranks.all(make_shared(mpi, info, comm, |info| make(true, info)) == SUCCESS);
    let code = if shared_below { SUCCESS } else { make(false, info) };
    if code == SUCCESS {
        prepare();
        // SAFETY: the MPI library has written the window's handle there.
        let handle = unsafe { mpi.read_handle(window) };
        let (rank, count) = (ranks.rank as usize, ranks.count as usize);
        let locks = agreed_locks(agreed.scheme, meeting, number, rank);
        let is_mapped = shared_below || kind == Kind::Shared;
        let parts = if is_mapped { Parts::of(handle, ranks.count) } else { None };
        let made = Made {
            handle,
            mpi,
            scheme: agreed.scheme,
            locks,
            parts,
            shared_below,
            served,
            // The program accesses shared memory without calls, so no call would perform an
            // acquisition that was deferred.
            deferred: agreed.scheme == Scheme::MessageDeferred && kind != Kind::Shared,
            unified: is_unified(mpi, handle),
            threads: has_threads(mpi),
        };
        registry::add(handle, Arc::new(Window::new(made, rank, count)));
    }
    code
}

/// Makes the locks of a window for this rank.
fn agreed_locks(scheme: Scheme, meeting: Meeting, number: usize, rank: usize) -> Arc<dyn Locks> {
    let Meeting { area, firsts, peers } = meeting;
    let (ranks, first) = (firsts.len(), firsts[rank]);
    // On one host, `hierarchical` needs only the queue of the host.
    let is_flat = peers.is_none() && scheme == Scheme::Hierarchical;
    let scheme = if is_flat { Scheme::Fair } else { scheme };
    let own = |rank| locks(scheme, Arc::clone(&area), rank, ranks, Process::own());
    let Some(peers) = peers else { return own(rank) };
    let by_messages = goes_by_messages(scheme);
    let peers = Arc::new(peers);
    let spread = |rank| {
        let (firsts, peers) = (firsts.clone(), Arc::clone(&peers));
        Spread::new(number as u64, rank, own(rank), firsts, by_messages, peers)
    };
    if scheme == Scheme::Hierarchical {
        return Arc::new(Cohort::new(spread(first), spread(rank), Arc::clone(&area), rank, ranks));
    }
    Arc::new(spread(rank))
}

/// Whether a rank's own accesses and those of other ranks use the same memory of a window.
fn is_unified(mpi: &Constants, window: Word) -> bool {
    let (mut model, mut found) = (ptr::null(), 0);
    // SAFETY: the window exists. If the attribute is found, the address of a number is written.
    unsafe {
        below::PMPI_Win_get_attr(window, mpi.win_model, &raw mut model, &raw mut found);
        found != 0 && model.as_ref() == Some(&mpi.win_unified)
    }
}

/// Whether threads may call MPI at the same time. If that is unknown, the answer is yes.
fn has_threads(mpi: &Constants) -> bool {
    let mut level = mpi.thread_multiple;
    // SAFETY: the level is written to.
    unsafe { below::PMPI_Query_thread(&raw mut level) };
    level == mpi.thread_multiple
}
