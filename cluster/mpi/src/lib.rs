//! The library that `syncline mpi` preloads into MPI programs. The library gives each window the
//! lock scheme that an Info key or the environment requests; the program need not be compiled
//! again.
//!
//! ```text
//!   program --> entries    the functions of MPI that this library replaces, and its own ones
//!                 |
//!               create     makes a window under the scheme that its ranks request
//!               ranks      how the ranks agree on the scheme
//!               registry   finds the window with an MPI handle
//!               window     which targets are held, and which must be flushed
//!                 |
//!               hosts      which ranks share a segment; locks between hosts, with messages
//!               host       windows whose memory all ranks have mapped: puts and gets as copies
//!               kinds      the datatypes that can be copied
//!               scheme     the locks of each scheme: the lock library's own code, on a segment
//!               locks      what a rank can do with the locks of a window
//!               robust     the locks without queues
//!               ordered    the locks with queues in front of them
//!               queues     the locks of windows whose servers notice deaths
//!               segment    memory in which references mean the same to all ranks of a host
//!               library    which MPI is loaded, its constants and its own functions
//!               errors     the error classes that are added to MPI's
//!               say        messages on standard error
//! ```
//!
//! **The words of locks are in memory that the ranks of a host share.** The processor's atomic
//! instructions change them. Words in an MPI window that MPI's atomic operations change would cost
//! more than the MPI library's own lock. Ranks of other hosts send requests for locks (`hosts`). If
//! a rank can't make shared memory, or can't make a server for other hosts, the window keeps the
//! MPI library's lock.
//!
//! **In the MPI library, the program's window stays in one epoch**: `lock_all` with
//! `MPI_MODE_NOCHECK`. This epoch is opened at the first lock, and closed at the end of the window
//! or before an epoch of another kind. An unlock flushes only the targets to which the rank has
//! sent something.
//!
//! **A rank that waits lets MPI make progress**, since the holder of the lock may be in a flush
//! that needs this very rank.
//!
//! **One binary works with all MPI libraries**: a handle is passed as a word (`library`), so no MPI
//! headers are needed to build this.
//!
//! If no rank has requested a scheme for a window, all calls on it are passed to the MPI library
//! unchanged.

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
