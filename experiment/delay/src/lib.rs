//! The library that `syncline whatif` preloads into a program to slow down one of its call sites.
//!
//! It interposes the C library's functions that acquire a lock or wait, and passes every call on.
//! It counts the calls from the named call sites. At one of these, it makes the operations of one
//! kind take a given time longer:
//!
//! ```text
//! program --> interpose   one function for each of the C library's
//!               |
//!             sites       the named call site that the call comes from, if there is one
//!               |
//!             counts      counts the calls, for the command to read
//!             delay       spins for the requested ticks of processor time
//! ```
//!
//! **Delays of a section are spent right after the acquisition**, not before the release. The
//! length of a section does not depend on where in it the time is spent. The address of the
//! acquiring call identifies the section. For a delay at the release, that address would have to be
//! noted, and every release would have to look it up. So functions that release are not interposed
//! at all. (Delays of the call that acquires are spent before the acquisition.)
//!
//! **A run without delays is a run with delays of zero ticks**: the program runs under this library
//! in both cases, so both sides of the comparison include the library's cost.
//!
//! The library replaces no lock, records nothing, and decides nothing. The command decides which
//! operation to delay and for how long, and interprets the results.

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
