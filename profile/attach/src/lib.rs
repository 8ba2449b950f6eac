//! Attaches the recorder to a running process, and detaches it.
//!
//! ```text
//! Claim      only one command at a time has a process
//! Target     the process: what it is, its modules; refusals, before anything is touched
//! seccomp    whether a sandbox lets it do what is needed
//! safe       a thread that waits in a system call, outside of the allocator and the loader
//! Borrowed   that thread, stopped; functions are called on it, and then it goes on as before
//! handover   the library and the file, given to the process as descriptors
//! slots      the words by which modules call the functions that are counted
//! restore    their old values, written from outside if the loader's lock can't be had
//! Attached   all steps in order, and back
//! ```
//!
//! A borrowed thread runs a call in the same way as a signal handler. A signal frame on the stack
//! has the state with which the thread goes on, and the call returns to `rt_sigreturn`, which
//! restores it. So if the command is killed meanwhile, the thread finishes the call by itself. No
//! instruction of the program is changed. Other threads are stopped only to read their seccomp
//! filters, or if the loader's lock is not available.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod attached;
mod borrow;
mod children;
mod claim;
mod frame;
mod handover;
mod image;
mod maps;
mod memory;
mod modules;
mod others;
mod pointers;
mod quiet;
mod refusal;
mod restore;
mod safe;
mod seccomp;
mod slots;
mod stopped;
mod symbols;
mod target;
mod trace;

pub use attached::{Attached, Left, Wanted};
pub use children::Children;
pub use refusal::{Error, Refusal};
