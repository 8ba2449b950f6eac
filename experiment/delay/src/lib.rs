//! The library that `syncline whatif` preloads into a program to slow a call site of it down.
//!
//! It stands in front of the C library's functions that acquire a lock or wait, and passes every
//! call on. Calls from some call sites are counted, and those from one of them, of one
//! kind, take a given time longer:
//!
//! ```text
//! program --> interpose   one function for each of the C library's
//!               |
//!             sites       which call site the call comes from, if it is one that was named
//!               |
//!             counts      how often, for the command to read
//!             delay       so many ticks of processor time
//! ```
//!
//! **Delays are put where the acquisition ends**, not where the release begins. A section is as long
//! wherever in it the time is spent, and the address of the acquiring call identifies it; at the
//! release it would have to be noted, and looked up by every other release. So functions that
//! release are not touched at all.
//!
//! **A run without delays is a run with delays of zero ticks**: the program is compared with itself
//! under this library, so that the library's cost is on both sides.
//!
//! What it does not do: it replaces nothing, records nothing, and decides nothing. The command
//! decides what to delay, and for how long, and interprets the results.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("this library is written for x86-64 Linux with glibc");

syncline_interpose::go_around!();
syncline_interpose::go_around! { "sched_yield" = 24, }

mod counts;
mod delay;
mod interpose;
mod options;
mod sites;
mod start;
mod tls;
mod unwind;
