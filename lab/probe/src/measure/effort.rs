//! The amount of measuring, and the progress of a measurement.

/// The amount of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of passes. Each pass measures everything except the matrix of all pairs.
    pub(super) passes: u32,
    /// The number of samples for a case in one pass.
    pub(super) rounds: u32,
    /// The number of pairs of threads that are measured for a distance.
    pub(super) pairs: usize,
    /// The number of samples for a pair in the matrix.
    pub(super) matrix_rounds: u32,
    /// Whether to walk through an amount of memory that fits into each level of caches.
    pub(super) walks: bool,
    /// Whether to walk through more memory than any cache has room for.
    pub(super) beyond: bool,
}

impl Effort {
    /// For reliable figures. Takes a few seconds with a few processors, and a minute or two with
    /// hundreds.
    pub const FULL: Effort =
        Effort { passes: 5, rounds: 60, pairs: 3, matrix_rounds: 25, walks: true, beyond: true };
    /// For a first look, and for tests.
    pub const QUICK: Effort =
        Effort { passes: 2, rounds: 20, pairs: 1, matrix_rounds: 7, walks: true, beyond: true };
    /// For a simulated machine. There all samples are equal, and the last level of caches contains
    /// everything.
    pub const SIMULATED: Effort =
        Effort { passes: 1, rounds: 2, pairs: 2, matrix_rounds: 1, walks: true, beyond: false };
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of parts that are done.
    pub done: usize,
    /// The number of all parts.
    pub of: usize,
}
