//! What the papers claim, each held against what is measured here.
//!
//! A row of [`ROWS`] is a statement of a paper, with the check that says whether it holds: a pure
//! function over the figures, whose parts have our number beside the paper's. Parts that are
//! known to miss stand in [`KNOWN_MISSES`] with the reason; a row that misses for another
//! reason fails a test, and so does one that has come to hold.

mod check;
mod hardware;
mod known;
mod locks;
mod memcached;
mod messages;
mod paper;
mod placement;
mod report;
mod rows;
mod scaling;
mod shared_memory;
mod table;
mod two_sockets;
mod uncontended;
mod windows;

pub use check::{Part, median};
pub use known::{KNOWN_MISSES, Miss};
pub use report::{Summary, markdown, outcomes, table as text};
pub use rows::{Check, ROWS, Row};
