//! The reasons why a text does not describe a machine.

use super::description::FORMAT;

/// The reason why a text does not describe a machine.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: String, source: std::io::Error },
    #[error("{path}: not a machine description: {source}")]
    Syntax { path: String, source: serde_json::Error },
    #[error("{path}: described in format {found}, but this Syncline reads {FORMAT}")]
    Format { path: String, found: String },
    #[error("{path}: {what}")]
    Wrong { path: String, what: String },
}
