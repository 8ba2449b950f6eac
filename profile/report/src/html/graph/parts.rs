//! The parts of the picture of who blocks whom.

/// A call site where threads waited, or held locks that others waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    /// The call site's index, for a link to its row in the table; `None` if it has no row.
    pub site: Option<usize>,
}

/// The waiting at one call site, the node `from`, for holders from another one, the node `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub waited: f64,
    pub waits: u64,
}
