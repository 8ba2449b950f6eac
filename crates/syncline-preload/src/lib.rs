//! The library that `syncline record` preloads into a program.
//!
//! It stands in front of the C library's synchronization functions and counts what goes
//! through them, in the mapped file of a recording ([`syncline_recording::layout`]):
//!
//! ```text
//! program --> interpose::*   what each function means
//!               |  `real`    the functions that the program meant
//!               v
//!             count          found, counted, held, waited, who held it
//!               |
//!               v
//!             thread::rows   the thread's own table, in the file
//!             recorder       the file; stacks; room in it
//!             unwind         call stacks for new rows
//! ```
//!
//! What it holds to:
//!
//! - it changes no byte of the program's own objects, and no result of its calls;
//! - an uncontended operation at a place that is known takes no lock, allocates nothing, writes
//!   nothing that another thread writes, and makes no system call, but for a sample where locks
//!   are held for long (`count/hold.rs`);
//! - it waits for nobody: not in a signal handler, not before its own start, not after a
//!   fork;
//! - where it can't count, it lets the call pass and counts that.
//!
//! It does not call the program's allocator, and no function of the C library that might
//! call back into the program.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("the preload library is written for x86-64 Linux with glibc");

mod alloc;
mod clock;
mod count;
mod interpose;
mod options;
mod recorder;
mod thread;
mod tls;
mod unwind;
