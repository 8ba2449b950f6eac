//! The figures and tables of SSYNC, those of the paper on MPI's passive target, figures 8 to 10 and
//! 13 of Argo, and a figure of transactions. Each has its measurement, and a sentence that sums up
//! its result. A new figure needs a file and a line in [`PLANS`].

mod atomics;
pub mod memcached;
pub mod messages;
pub mod placement;
mod plan;
pub mod scalability;
pub mod sentence;
pub mod shared_memory;
mod ssync;
pub mod table;
pub mod tables;
mod throughput;
mod ticket;
pub mod transactions;
pub mod uncontended;
pub mod windows;

pub use plan::Plan;
pub(crate) use ssync::load;
pub use ssync::{NINE, locks};

/// All plans, in the order of the papers. This is a static, since the code of a constant would be
/// generated again in each crate that uses it.
pub static PLANS: [Plan; 24] = [
    tables::REMOTE,
    tables::LOCAL,
    ticket::PLAN,
    atomics::PLAN,
    atomics::LATENCY,
    throughput::ONE,
    uncontended::PLAN,
    throughput::MANY,
    scalability::PLAN,
    messages::TWO,
    messages::SERVER,
    table::PLAN,
    table::UNPINNED,
    memcached::PLAN,
    transactions::PLAN,
    placement::PLAN,
    windows::SHARED,
    windows::MIXED,
    windows::EXCLUSIVE,
    windows::QUARTILES,
    windows::WRITER,
    shared_memory::SCHEMES,
    shared_memory::BUFFERS,
    shared_memory::SCALING,
];
