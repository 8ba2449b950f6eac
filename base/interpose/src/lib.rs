//! Common parts of Syncline's preloaded libraries, for interposing the C library's functions. The
//! main ones:
//!
//! ```text
//!   entry!         exports a function, whose body learns where the program called it
//!   real!          the function that the program meant: the next definition after ours
//!   go_around!     system calls that a program can't replace
//!   definition     the address of a function, found without the loader
//!   variable       a variable of the environment
//!   thread_words!  words of a thread, reached by two moves and never allocated
//!   thread_ends!   the ends of threads, by a key that the program can have back
//!   Object         a loaded library or program: where it lies, and which build it is
//!   position       the file that an address lies in, and the address there
//!   Folder         the folder that the process writes to
//!   Mark           marks data that is changed in steps, for handlers that interrupt the change
//!   run_on         runs work on another stack, since the program's may have no room for it
//!   ProcessFile    the process's file, in which the library notes what it sees
//!   for_each_frame the calls that led here
//! ```
//!
//! With three exceptions, nothing here allocates, takes a lock, changes `errno` or calls functions
//! that a program may have interposed itself. So it may be used while the program holds a lock, in
//! a signal handler, before the program's constructors and after a fork. The exceptions are the
//! last part, the C library's own functions that are called by `real!` or by their second names,
//! and the functions of `go_around!`, which set `errno` if they fail.

#![no_std]
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod around;
mod backtrace;
mod build_id;
mod definitions;
mod ends;
mod entry;
mod environment;
mod errno;
mod folder;
mod found;
mod link_map;
mod loaded;
mod mark;
mod object;
mod position;
mod process_file;
mod real;
mod search;
mod stack;
mod words;

pub use backtrace::for_each_frame;
pub use ends::{Destructor, ThreadEnds};
pub use environment::variable;
pub use errno::preserving_errno;
pub use folder::Folder;
pub use found::{can_ask, object_at};
pub use loaded::for_each_loaded;
pub use mark::{Mark, Marked};
pub use object::{Object, ProgramHeader};
pub use position::{Position, Span, learn_program, number, position};
pub use process_file::{ProcessFile, describe_program, populate, read_arguments};
pub use real::{Symbol, fail};
pub use real::{pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock};
pub use search::{definition, is_late, next_definition, own_definition};
pub use stack::{alternate_stack, run_on, with_signals_blocked};
