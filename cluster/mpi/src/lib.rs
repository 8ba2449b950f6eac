//! The library that `syncline mpi` preloads into MPI programs: it gives each window another lock
//! scheme, chosen by an Info key, without recompiling the program.
//!
//! ```text
//!   program --> entries    one function for each of MPI's that a window's locks concern
//!                 |
//!               create     a window under the scheme that its ranks request
//!               ranks      how the ranks agree on the scheme
//!               registry   from MPI's handle to the window
//!               window     which targets are held, and which must be flushed
//!                 |
//!               hosts      which ranks share a segment; locks between hosts, by messages
//!               host       windows whose memory all ranks have mapped: puts and gets as copies
//!               kinds      the datatypes that can be copied
//!               scheme     the locks of each scheme: the lock library's own code, over a segment
//!               locks      what a rank can do with them
//!               robust     the locks without queues
//!               ordered    the locks with queues in front
//!               queues     the locks of windows for which a server notices deaths
//!               segment    a memory whose references mean the same to all ranks of a host
//!               library    which MPI is loaded, its constants, its functions behind ours
//!               errors     the error classes that are added to MPI's
//!               say        messages on standard error
//! ```
//!
//! **Lock words lie in memory that the ranks of a host share**, and are changed by the processor's
//! atomic instructions. Words in an MPI window, changed by MPI's atomics, would cost more than the
//! MPI library's own lock. Ranks of other hosts are served by messages (`hosts`). If a rank can
//! make no shared memory, or no server for other hosts, the window keeps the library's lock.
//!
//! **The program's window stays in one epoch of the library below**, `lock_all` with
//! `MPI_MODE_NOCHECK`: it is opened at the first lock, and closed at the end or before another kind
//! of epoch. An unlock flushes only the targets to which the rank has sent something.
//!
//! **A waiter drives MPI's progress**, since the holder may be waiting in its flush for this very
//! rank.
//!
//! **One library works with all MPIs**: a handle is a word (`library`), so this library is built
//! without any MPI's headers.
//!
//! A window without a scheme, for which no rank has requested one, is passed through unchanged.

#![allow(non_snake_case, clippy::too_many_arguments, reason = "names and arguments are MPI's")]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("this library is written for x86-64 Linux with glibc");

mod create;
mod entries;
mod errors;
mod host;
mod hosts;
mod kinds;
mod library;
mod locks;
mod ordered;
mod queues;
mod ranks;
mod registry;
mod robust;
mod say;
mod scheme;
mod segment;
mod window;
