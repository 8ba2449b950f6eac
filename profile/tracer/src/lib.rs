//! The library that `syncline inspect` preloads into a program to trace what its critical
//! sections touch.
//!
//! ```text
//! program --> interpose   the functions that acquire and release locks, and the allocator's
//!                v
//!             call        counts an acquisition, and chooses whether its section is traced
//!                v
//!             dispatch    does what translated code can't do itself
//!                v
//!             section     the beginning and the end of a traced section, and its record
//!              |   |
//!              |   v
//!              |  thread, heap    the counts of a thread; the blocks of memory
//!              v   v
//!           engine   process      runs instructions, notes their accesses; the process's file
//!                  v              (`syncline_trace`), the budget
//!                aside            the gate for all system calls of the library's own
//! ```
//!
//! No two files import each other, directly or through others. The module `starting` runs when the
//! program starts, and `ending` when tracing ends.
//!
//! The rules that the library keeps:
//!
//! - the program behaves as without the library: same results, same output;
//! - the set of addresses that a section touched is exact to the byte, or the section's record says
//!   where tracing stopped (what the kernel accesses in uncommon system calls is left out; these
//!   calls are only counted);
//! - functions that acquire or release a lock call nothing that the program can replace, such as
//!   its allocator: see `go_around` in `syncline-interpose`;
//! - the library uses only a few hundred bytes of the program's stack, and makes no system calls
//!   after the program has forbidden itself any (`aside`; `sandbox` has the one exception);
//! - a section's record is made after the lock's release, so that no thread waits for the lock
//!   meanwhile.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("the inspecting library is written for x86-64 Linux with glibc");

syncline_interpose::go_around!();
syncline_interpose::go_around! { "sched_yield" = 24, "nanosleep" = 35, }

mod alloc;
mod aside;
mod call;
mod clock;
mod dispatch;
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
