//! Locks over two segments, under loom and shuttle; and mutants, which assume that a word's bytes
//! are at its address, or that nodes can be anywhere. `tests/segments_native` runs the locks on
//! system threads.

/// Some of the catalogue's locks with queues, and locks that these are made of. The lines are the
/// catalogue's.
macro_rules! locks {
    ($each:ident) => {
        $each! { ticket, Ticket, exclusive queues try fifo }
        $each! { ticket_prefetch, PrefetchingTicket, exclusive queues try fifo }
        $each! { mcs, Mcs, exclusive queues try fifo }
        $each! { hticket, HierarchicalTicket, exclusive queues try near }
        $each! { cohort_mcs, CohortMcs, exclusive queues try near }
        $each! { cohort_ttas_mcs, CohortTtasMcs, exclusive queues try near }
        $each! { hmcs, Hmcs, exclusive queues try near }
        $each! { rw_fair, FairRw, shared queues fifo }
        $each! { rw_readers, ReadersFirst, shared queues try }
        $each! { rw_writers, WritersFirst, shared queues try }
    };
}

mod broken;
#[path = "../locks/loom.rs"]
mod loom;
mod mutants;
mod near;

/// The whole catalogue, under shuttle, whose executions are cheap.
macro_rules! locks {
    ($each:ident) => {
        syncline::for_each_lock!($each);
    };
}

#[path = "../locks/shuttle.rs"]
mod shuttle;

use syncline_checkers::{Executions, Segments, randomly};

type Loom = Segments<syncline_checkers::Loom>;
type Drawn = Segments<syncline_checkers::Shuttle>;

/// The most executions of each case under loom.
const UP_TO: Executions = Executions(2_000);
