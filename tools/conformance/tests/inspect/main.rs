//! The traces of `syncline inspect` have the address sets that are known by construction, and
//! traced programs behave as without tracing.
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
