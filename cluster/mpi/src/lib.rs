//! The library that `syncline mpi` preloads into MPI programs: another lock scheme for each window,
//! chosen by an Info key, in a program that was not recompiled.
//!
//! ```text
//!   program --> entries    one function for each of MPI's that a window's locks concern
//!                 |
//!               create     a window under the scheme that its ranks want
//!               ranks      which one that is
//!               registry   from MPI's handle to the window
//!               window     who holds what; which targets must be flushed; the errors
//!                 |
//!               hosts      who shares a segment; locks between hosts, by messages
//!               host       windows whose memory all ranks have mapped: puts and gets as copies
//!               kinds      the datatypes that can be copied
//!               scheme     the locks, by name: the library's own text over a segment
//!               locks      what a rank can do with them
//!               robust     those without queues
//!               ordered    those with queues in front
//!               queues     those whose ranks a server watches
//!               segment    a memory whose references mean the same to all ranks of a host
//!               library    which MPI is loaded, its constants, its functions behind ours
//! ```
//!
//! **Lock words lie in memory that the ranks of a host share**, and the processor's atomics change
//! them. Words in an MPI window, changed by MPI's atomics, would cost more than the MPI library's own
//! lock. Where the ranks of a window can't all share memory, the window keeps that lock.
//!
//! **The program's window stays in one epoch of the library below**, `lock_all` with
//! `MPI_MODE_NOCHECK`: opened at the first lock, closed before another kind of epoch and at the end.
//! An unlock flushes, and only targets that something was sent to.
//!
//! **A waiter drives MPI's progress**, since the holder may wait in its flush for just this rank.
//!
//! **One library for all MPIs**: a handle is a word (`library`), so nothing of an MPI is needed to
//! build this one.
//!
//! A window without a scheme, or without a rank that asks for one, is passed through untouched.

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
