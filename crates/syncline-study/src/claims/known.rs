//! Parts of claims that are known to miss, each with the reason.

/// A part that misses.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The row.
    pub id: &'static str,
    /// What the part is about, as it begins.
    pub part: &'static str,
    /// Why.
    pub why: &'static str,
}

/// All of them.
#[rustfmt::skip]
pub const KNOWN_MISSES: &[Miss] = &[];
