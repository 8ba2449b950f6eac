//! How much is measured, and how far a measurement has come.

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of passes, each of which measures everything but the matrix.
    pub(super) passes: u32,
    /// Samples of a case in a pass.
    pub(super) rounds: u32,
    /// Pairs of threads for a distance.
    pub(super) pairs: usize,
    /// Samples of a pair in the matrix.
    pub(super) matrix_rounds: u32,
    /// Whether to walk through as much memory as fits into each level of caches.
    pub(super) walks: bool,
    /// Whether to walk through more memory than fits into any cache.
    pub(super) beyond: bool,
}

impl Effort {
    /// For reliable figures: takes a few seconds for a few processors, a minute or two for
    /// hundreds.
    pub const FULL: Effort =
        Effort { passes: 5, rounds: 60, pairs: 3, matrix_rounds: 25, walks: true, beyond: true };
    /// For a first look, and for tests.
    pub const QUICK: Effort =
        Effort { passes: 2, rounds: 20, pairs: 1, matrix_rounds: 7, walks: true, beyond: true };
    /// For a simulated machine, where all samples are equal and the last level of caches holds
    /// everything.
    pub const SIMULATED: Effort =
        Effort { passes: 1, rounds: 2, pairs: 2, matrix_rounds: 1, walks: true, beyond: false };
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of parts that are done.
    pub done: usize,
    /// Number of all parts.
    pub of: usize,
}
