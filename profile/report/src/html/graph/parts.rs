//! The parts of the picture.

/// A call site where threads waited, or held locks that others waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    /// The call site's index, for a link to its row in the table; `None` if it has none.
    pub site: Option<usize>,
}

/// The waiting of one call site for another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub waited: f64,
    pub waits: u64,
}
