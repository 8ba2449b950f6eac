//! Writes an analysis for other tools. `docs/exports.md` says which tool opens what.
//!
//! Profiles ([`pprof`], [`folded`]) have the waiting for locks of the whole run, by call stack:
//! exact sums, but no moments. Traces ([`firefox`], [`perfetto`]) have the timeline: which thread
//! waited or held a lock at which time, as far as the recording kept it. [`json`] has both.

mod firefox;
mod folded;
mod json;
mod parts;
mod perfetto;
mod pprof;

pub use firefox::firefox;
pub use folded::{Value, folded};
pub use json::json;
pub use perfetto::perfetto;
pub use pprof::pprof;
