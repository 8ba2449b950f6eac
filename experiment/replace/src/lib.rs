//! The library that `syncline exec` preloads into a program to replace its locks.
//!
//! It interposes the C library's mutexes, spinlocks, reader-writer locks and condition variables,
//! and replaces them by locks of the catalogue:
//!
//! ```text
//! program --> entries               the functions that the program calls; cond: condition variables
//!               |
//!             choice                the lock, as a table of functions; chosen at the first use
//!             catalogue             the tables of functions, by the locks' names
//!             numbered, policy      the lock of each object, if they differ
//!               |
//!             mutex, rwlock, spin   the behaviour that POSIX requires, over any lock
//!               |
//!             slot                  the storage of the lock, in the program's own object
//!             memory                the library's memory: nodes, large locks, sleeping
//! ```
//!
//! **A replaced lock is inside the program's object**, in bytes that the C library does not use
//! while the lock is replaced; the fields with the object's kind stay as the C library set them. So
//! there is no table to search and nothing to free, a static initialiser is a free lock, and the
//! program may reuse the object's memory in any way. Locks that are too large for the object are
//! allocated when they are first used, up to a limit.
//!
//! **Locks that can't be replaced are left to the C library completely**: locks shared between
//! processes, robust mutexes, and those with a priority protocol. No object is ever handled by both
//! libraries at the same time.
//!
//! The library also places threads on processors, if that is requested (`placement`).
//!
//! After the program has begun, the library calls nothing that the program can replace, such as its
//! allocator (`go_around` in `syncline-interpose`), and it leaves `errno` alone.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("this library is written for x86-64 Linux with glibc");

syncline_interpose::go_around!();
syncline_interpose::go_around! { "sched_yield" = 24, }

mod catalogue;
mod choice;
mod cond;
mod deadline;
mod entries;
mod generation;
mod memory;
mod mutex;
mod numbered;
mod options;
mod placement;
mod policy;
mod report;
mod rwlock;
mod slot;
mod spin;
mod start;
mod table;
mod tls;
