//! What preloaded libraries of Syncline need to stand in front of the C library's functions.
//!
//! ```text
//!   entry!         exports a function, and says where the program called it from
//!   real!          the function that the program meant, behind ours
//!   thread_words!  words of a thread that take two moves to reach, and never an allocation
//!   thread_ends!   the ends of threads, by a key that the program can have back
//!   Object         a loaded library or program: where it lies, and which build it is
//!   ProcessFile    the process's file, where the library writes down what it sees
//! ```
//!
//! None of it allocates, takes a lock or changes `errno`, so that it may run in a signal
//! handler, before the program's constructors and after a fork.

#![no_std]
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod build_id;
mod ends;
mod entry;
mod errno;
mod object;
mod process_file;
mod real;
mod words;

pub use ends::{Destructor, ThreadEnds};
pub use errno::preserving_errno;
pub use object::{Object, ProgramHeader, for_each_loaded};
pub use process_file::{ProcessFile, describe_program, populate};
pub use real::{Symbol, fail};
pub use real::{pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock};
