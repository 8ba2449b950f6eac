//! The locks of a window, for each scheme.
//!
//! A scheme has one of the library's locks for each rank's part, and before them one word for the
//! whole window ([`syncline::window`]). The schemes without queues are in [`robust`], and those
//! with queues in [`ordered`]. If a server notices deaths, [`queues`](crate::queues) is enough.

use std::sync::Arc;

use syncline::lock::{FairRw, ReadersFirst, WritersFirst};
use syncline::wait::Yield;
use syncline::window::Scheme;
use syncline_fabric::Process;

use crate::locks::{LINE, Locks};
use crate::queues::{table, table_size};
use crate::segment::{Area, Segment};
use crate::{ordered, robust};

/// The name of the scheme that keeps the MPI library's own locks.
pub const LIBRARY: &str = "library";

/// The most ranks that a window under a scheme can have. With this number, the queue nodes take a
/// quarter of a gigabyte; their size grows with the square of the number.
pub const MOST_RANKS: usize = 2048;

/// The size in bytes of a segment for this many ranks.
pub fn size(scheme: Scheme, ranks: usize) -> usize {
    match scheme {
        Scheme::FullSupport | Scheme::BestEffort => robust::size(ranks),
        Scheme::Hierarchical => {
            (local_at(ranks) + table_size(ranks) + ranks * LINE).max(ordered::size(ranks))
        }
        Scheme::WriterPrecedence | Scheme::ReaderPrecedence | Scheme::Fair => ordered::size(ranks),
        Scheme::MessageDeferred | Scheme::MessageImmediate => table_size(ranks),
    }
}

/// The offset of a host's own locks under `hierarchical`. These locks come after the locks between
/// hosts. After them, [`LINE`] bytes for each part say how the host holds the part's lock between
/// hosts.
pub fn local_at(ranks: usize) -> usize {
    table_size(ranks).next_multiple_of(LINE)
}

/// Whether ranks lock every part by sending a request to the part's rank, even on their own host.
pub fn goes_by_messages(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::MessageDeferred | Scheme::MessageImmediate)
}

/// Makes the locks in a segment of [`size`] bytes, for this rank or its stand-in. `process` is the
/// rank's process, or a value for a process that can't be checked.
pub fn locks(
    scheme: Scheme,
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
    process: Process,
) -> Arc<dyn Locks> {
    let make = match scheme {
        Scheme::FullSupport => robust::table::<true>,
        Scheme::BestEffort => robust::table::<false>,
        Scheme::WriterPrecedence => ordered::table::<WritersFirst<Yield, Segment>>,
        Scheme::ReaderPrecedence => ordered::table::<ReadersFirst<Yield, Segment>>,
        Scheme::Fair => ordered::table::<FairRw<Yield, Segment>>,
        Scheme::Hierarchical | Scheme::MessageDeferred | Scheme::MessageImmediate => {
            return table::<FairRw<Yield, Segment>>(area, rank, ranks);
        }
    };
    make(area, rank, ranks, process)
}
