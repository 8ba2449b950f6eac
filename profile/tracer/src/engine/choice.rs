//! The choice that is made for a section before it begins.

/// Whether a section is traced, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is not.
    Passed,
    /// By a draw, as each acquisition of the lock may be.
    Drawn,
    /// As one of the first of its call site.
    Early,
}
