//! The cost of fetching a line that another processor has written.

/// About how many seconds it takes to fetch a cache line that another processor has written;
/// between two sockets it takes longer.
pub const FETCH: f64 = 60e-9;
/// Fetches must take at least this share of the run time, summed over all threads, to be a finding.
pub const FLOOR: f64 = 0.02;
