//! What every preloaded library of Syncline needs to stand in front of the C library's functions.
//!
//! ```text
//!   entry!         exports a function, and says where the program called it from
//!   real!          the function that the program meant, behind ours
//!   thread_words!  words of a thread that take two moves to reach, and never an allocation
//! ```
//!
//! None of it allocates, takes a lock or changes `errno`, so that it may run in a signal
//! handler, before the program's constructors and after a fork.

#![no_std]
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod entry;
mod errno;
mod real;
mod words;

pub use errno::preserving_errno;
pub use real::{Symbol, fail};
