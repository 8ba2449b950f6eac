//! What the picture shows.

/// A call site where threads waited, or held locks that others waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    /// The row of the table of call sites with the details, if there is one.
    pub site: Option<usize>,
}

/// Waiting of one call site for another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub waited: f64,
    pub waits: u64,
}
