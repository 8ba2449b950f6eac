//! The library that `syncline cluster --unmodified` preloads into a program, so that the threads of
//! an unmodified program run on several ranks.
//!
//! All ranks run the same file, at the same addresses. Rank 0 runs `main`; the others wait for
//! threads to run. Everything that threads can share by an address becomes global memory
//! (`syncline-dsm`): the program's own variables, its heap, and the stacks of its threads. What
//! belongs to a process stays each rank's own: the C library and its data, thread-local variables,
//! and a second stack for each thread, on which this library's code runs.
//!
//! ```text
//!   start        takes the program over before `main`; what the other ranks do meanwhile
//!   image        the program's variables, and the addresses of the global memory
//!   gate         whether a thread runs the program's code or this library's, on which stack
//!   heap         malloc and its relatives; mmap without a file
//!   threads      the program's threads: which rank runs them, how they begin and end
//!   joins        joining and detaching
//!   about        functions about a thread, such as its name
//!   keys         thread-specific data
//!   records      what all ranks know of each thread
//!   objects      what all ranks know of each mutex, condition variable, ... by its address
//!   mutex, condition, rwlock, barrier, semaphore, once
//!                these functions, over the words of an object
//!   calls        system calls of the program, which the kernel passes to this library
//!   call         one of them: pages that the kernel needs are made present
//!   data         system calls that move data
//!   home         system calls of other ranks' threads are made by rank 0, which has the files
//!   borrowed     memory of another rank that such a call needs
//!   signals      handlers and masks
//!   output       standard output, in the order in which threads synchronize
//!   refused      functions that can't work
//!   ends, fail   the end of the program, and its end because it can't run on ranks
//!   system       system calls that are not passed on
//! ```
//!
//! **Fences.** A function that synchronizes threads ends with an acquire if another rank may have
//! written what becomes visible, and begins with a release if others may see it afterwards. So a
//! program without data races computes what it computes in one process.
//!
//! **The kernel** does not serve page faults of global memory that it makes itself: such a system
//! call fails with EFAULT. Syscall User Dispatch passes every system call of the program's code,
//! the C library's included, to `calls`.
//!
//! Source: the paper runs programs that are written for it (Kaxiras et al., HPDC'15, section 5);
//! this library replaces the functions of POSIX by its mechanisms.

#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod about;
mod allocator;
mod barrier;
mod borrowed;
mod call;
mod calls;
mod condition;
mod data;
mod deadline;
mod ends;
mod fail;
mod fence;
mod gate;
mod heap;
mod home;
mod image;
mod joins;
mod keys;
mod mutex;
mod objects;
mod once;
mod output;
mod records;
mod refused;
mod rwlock;
mod semaphore;
mod signals;
mod start;
mod system;
mod threads;
mod words;
