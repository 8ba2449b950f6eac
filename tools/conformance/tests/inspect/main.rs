//! The traces of `syncline inspect`: address sets are those that are known by construction, and
//! programs behave as without tracing.
//!
//! The library is preloaded directly, with the environment that the command sets, so only the
//! tracing is tested here.

mod again;
mod counts;
mod exact;
mod heap;
mod limits;
mod often;
mod programs;
mod structure;
mod traced;
mod tree;
mod watched;
