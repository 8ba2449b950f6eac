//! The library that `syncline record` preloads into a program.
//!
//! It interposes the C library's synchronization functions, and counts their calls in the mapped
//! file of a recording ([`syncline_recording::layout`]):
//!
//! ```text
//! program --> interpose::*   what each function means
//!               |  `real`    the functions that the program meant to call
//!               v
//!             count          counts acquisitions, holds and waits, and finds the holders
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
//!   that another thread writes, and makes no system call. There are two exceptions, both in
//!   samples: those of long holds make system calls (`count/hold.rs`), and so does reading the
//!   clock if the time stamp counter can't be used (`clock.rs`);
//! - the library never waits: not in a signal handler, not while the process starts, and not after
//!   a fork;
//! - a call that can't be counted is passed on, and counted as missed.
//!
//! # What runs while the program holds a lock
//!
//! From the acquisition of a lock to the return into the program, and in a release, no code runs
//! that could wait for that lock: the thread would wait for itself. The lock may be that of the
//! program's allocator, of its `close`, or of a destructor. Therefore:
//!
//! - whatever an acquisition needs is made before the lock is tried: the recorder of the process
//!   (even of a forked child), the state of the thread (`thread::rows::spot`,
//!   `thread::attach::before_trying`), and the rows that count the acquisition (for a lock that
//!   can't be tried, the rows are made after it was acquired);
//! - this library makes its system calls itself, since a program may have its own `close` or `mmap`
//!   ([`go_around`](syncline_interpose::go_around)); its memory is its own (`alloc.rs`), and so
//!   are the words of a thread, which exist without a call (`tls.rs`);
//! - the loader is never called: `dlsym` and `dl_iterate_phdr` take its lock, may allocate, and can
//!   be replaced. This library reads the loader's tables instead, and calls only `_dl_find_object`,
//!   which takes no lock;
//! - the other functions of the C library that it calls only touch memory, and are looked up past
//!   the program's own definitions (`real!`).
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
