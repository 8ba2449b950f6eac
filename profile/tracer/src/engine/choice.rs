//! The choice that is made for a section before it begins.

/// Whether a section is traced, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The section is not traced.
    Passed,
    /// The section was drawn at random, as each acquisition of the lock may be.
    Drawn,
    /// The section is one of the first of its call site.
    Early,
}
