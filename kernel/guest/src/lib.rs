//! Runs an unmodified Linux kernel in QEMU, and reports which data its critical sections access.
//!
//! ```text
//! kernel, load, image, disk     what is booted
//!        |
//!     machine  --> QEMU with syncline-kernel-plugin --> trace
//!        |
//!      run     learns symbols and types in a first boot, plans, runs the load
//!        |
//!     classes  names of locks and fields, by symbols, btf and the allocator's objects
//!        |
//!     report   rows of lock classes, with the results of syncline-conflicts
//! ```
//!
//! The method is Syncchar's (Porter, Hofmann, Witchel 2007), which ran a kernel of 2006 in a
//! commercial simulator. `docs/kernel.md` says what emulation changes.

pub mod btf;
pub mod classes;
pub mod contention;
pub mod cpio;
pub mod disk;
mod error;
pub mod image;
pub mod kernel;
pub mod load;
pub mod machine;
pub mod needed;
pub mod planning;
pub mod report;
pub mod run;
pub mod symbols;

pub use error::Error;
