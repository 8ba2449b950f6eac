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
//!             thread::rows   which row of the thread's tables
//!             recorder       the file of this process
//!             unwind         call stacks for new rows
//!               |
//!               v
//!             syncline_recording::writer   the file: its regions, tables and logs
//! ```
//!
//! Its rules:
//!
//! - it changes no byte of the program's own objects, and no result of its calls;
//! - an uncontended operation at a known place takes no lock, allocates nothing, writes nothing
//!   that another thread writes, and makes no system call, except for a sample where locks are held
//!   for long (`count/hold.rs`);
//! - it never waits: not in a signal handler, not before its own start, not after a fork;
//! - where it can't count, it lets the call pass and counts that.
//!
//! # What runs while the program holds a lock
//!
//! From the acquisition of a lock to the return into the program, and in a release, no code runs
//! that could wait for that lock. Otherwise the thread would wait for itself: the lock may be that
//! of the program's allocator, of its `close`, or of a destructor. By construction:
//!
//! - the recorder of the process, also of a forked child, and the state of the thread are made
//!   before a lock is tried (`thread::rows::spot`, `thread::attach::before_trying`), and so are
//!   the rows in which its acquisition is counted;
//! - system calls are made by this library itself, since a program may have its own `close` or
//!   `mmap` ([`go_around`](syncline_interpose::go_around)); memory is its own (`alloc.rs`), and so
//!   are the words of a thread, which no call makes on demand (`tls.rs`);
//! - the loader is never called: `dlsym` and `dl_iterate_phdr` take its lock, may allocate, and
//!   can be replaced. Its tables are read instead, and its one function without a lock is
//!   `_dl_find_object`;
//! - what is called of the C library beyond the function that the program meant touches memory
//!   only, and is found behind the program's own definitions (`real!`).
//!
//! A test of syncline-conformance compares the library's undefined symbols with a reviewed list.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("the preload library is written for x86-64 Linux with glibc");

syncline_interpose::go_around!();
syncline_interpose::go_around! { "prctl" = 157, }

mod alloc;
mod clock;
mod count;
mod gates;
mod interpose;
mod live;
mod options;
mod recorder;
mod single;
mod thread;
mod tls;
mod unwind;
