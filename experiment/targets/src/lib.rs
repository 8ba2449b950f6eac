//! Finds the targets of experiments in a recording of a program.
//!
//! ```text
//!   objects   objects that cost time, and the locks that are worth trying there: `syncline tune`
//!   locks     the names of locks that can replace a program's
//!   sites     call sites that cost time, and the operations to delay there: `syncline whatif`
//!   delays    the sizes of delays, and the meaning of a run's response to them
//!   call      the call site of a stack, and the address of its call
//! ```
//!
//! All of these are functions of an analysis: they run no program and read no file. `syncline-try`
//! runs the program, and knows neither locks nor recordings.

mod call;
pub mod delays;
mod locks;
pub mod objects;
pub mod sites;

pub use locks::Locks;
