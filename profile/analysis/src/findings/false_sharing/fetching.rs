//! The cost of fetching a line that another processor has written.

/// About how many seconds it takes to fetch a cache line that another processor has written;
/// between two sockets it takes longer.
pub const FETCH: f64 = 60e-9;
/// The least share of the run time, all threads together, that fetching takes.
pub const FLOOR: f64 = 0.02;
