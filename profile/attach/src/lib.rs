//! Attaches the recorder to a running process, and detaches it.
//!
//! ```text
//! Claim      the right to attach to a process, which only one command has at a time
//! Target     what is known about the process; refusals, before anything is changed
//! seccomp    checks that a sandbox allows what is needed
//! safe       finds a thread that waits in a system call, outside of the allocator and the loader
//! Borrowed   this thread: functions are called on it, and then it goes on as before
//! handover   gives the recorder's library and the file to the process, as descriptors
//! slots      finds the words through which modules call the functions that are counted
//! restore    restores their values from outside, if the loader's lock is not available
//! Attached   takes all these steps in order, and takes them back
//! ```
//!
//! A borrowed thread runs a call in the same way as a signal handler. A signal frame on the stack
//! has the state with which the thread goes on, and the call returns to `rt_sigreturn`, which
//! restores it. So if the command is killed meanwhile, the thread finishes the call by itself. No
//! instruction of the program is changed. Other threads are stopped only to find out whether they
//! can be borrowed, to read their seccomp filters, or if the loader's lock is not available.

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
