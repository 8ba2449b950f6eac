//! The locks of a window under each scheme.
//!
//! A scheme consists of a lock of the library for each rank's part, and one word for the whole
//! window before them ([`syncline::window`]). Schemes without queues are in [`robust`], those with
//! queues in [`ordered`]; if a server notices deaths, [`queues`](crate::queues) suffices.

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

/// The most ranks of a window under a scheme: with this number the nodes take a quarter of a
/// gigabyte, and they grow with its square.
pub const MOST_RANKS: usize = 2048;

/// Size in bytes of a segment for this many ranks.
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

/// Offset of a host's own locks under `hierarchical`: behind those between hosts. They are followed
/// by what the host holds of each part's lock, [`LINE`] bytes each.
pub fn local_at(ranks: usize) -> usize {
    table_size(ranks).next_multiple_of(LINE)
}

/// Whether all requests go to the part's own rank by messages, even those of its own host.
pub fn goes_by_messages(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::MessageDeferred | Scheme::MessageImmediate)
}

/// Makes the locks in a segment of that size, as this rank or a stand-in for it uses them;
/// `process` is the rank's process, or one that can't be checked.
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
