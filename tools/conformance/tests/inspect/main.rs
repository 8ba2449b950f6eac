//! What `syncline inspect` traces: address sets are equal to what is known by construction, and
//! programs do what they do without it.
//!
//! The library is preloaded directly, with the environment that the command sets, so that nothing
//! but the tracing is tested here.

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
