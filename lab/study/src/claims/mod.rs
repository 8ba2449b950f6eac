//! The papers' claims, each compared with what is measured here.
//!
//! A row of [`ROWS`] is a statement of a paper, with the way in which it is checked. For most rows,
//! this is a pure function of the figures. It returns parts, each with our number and the paper's.
//! Parts that are known to miss are in [`KNOWN_MISSES`], with the reason. A test fails if any other
//! part misses, or if a part in that list now holds.

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
pub use report::{Summary, markdown, outcomes, parts_markdown, table as text};
pub use rows::{Check, ROWS, Row};
