//! The choice that is made for a section before it begins.

/// Whether a section is traced, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is not traced.
    Passed,
    /// It was drawn at random, as each acquisition of the lock may be.
    Drawn,
    /// It is one of the first sections of its call site.
    Early,
}
