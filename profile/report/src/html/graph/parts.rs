//! What the picture shows.

/// Where threads waited, or held what others waited for.
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
