//! The library that `syncline inspect` preloads into a program to trace what its critical
//! sections touch.
//!
//! ```text
//! program --> interpose::*   the functions that take and release locks
//!                v
//!             section        which sections are traced; their begin and their end
//!               |    |
//!               |    v
//!               |  engine    runs the program's instructions and notes their accesses
//!               v
//!             thread, process   counts, the file (`syncline_trace`)
//! ```
//!
//! What it holds to:
//!
//! - the program does what it does without it: same results, same output;
//! - an address set is exact to the byte, or the record says where tracing stopped;
//! - it calls nothing that the program can replace, such as its allocator, from a function that takes
//!   or releases a lock: see `go_around` in `syncline-interpose`;
//! - it takes a few hundred bytes of the program's stack, and once the program forbids itself system
//!   calls it makes none (`aside`);
//! - the record is made after the release, while nobody waits for the lock.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("the inspecting library is written for x86-64 Linux with glibc");

syncline_interpose::go_around!();
syncline_interpose::go_around! { "nanosleep" = 35, }

mod alloc;
mod aside;
mod clock;
mod ending;
mod engine;
mod files;
mod heap;
mod interpose;
mod options;
mod process;
mod sandbox;
mod section;
mod select;
mod starting;
mod thread;
mod tls;
