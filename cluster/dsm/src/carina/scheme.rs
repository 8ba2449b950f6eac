//! The schemes by which the paper classifies lines.

/// How finely lines are classified. All of a program's lines have one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// S: no classification, no directory; every line is invalidated at every acquire.
    Shared,
    /// P/S: a line that only one node uses is private to it.
    Private,
    /// P/S3: shared lines are also classified by the number of their writers.
    Writers,
}
