//! Finds a kernel's critical sections in the instructions that it executes.
//!
//! ```text
//! plan      the roles of the kernel's functions, the offsets of its structures' members
//!   +--> code      what each instruction means          (once, when it is translated)
//!          +--> context   locks held, level by level    (each time that it is executed)
//!                 +--> words    the address set of a section
//! role      what a function does with a lock, and the names of such functions
//! bits      bit spinlocks, which have no functions
//! ```
//!
//! Everything here is pure: plain data in, plain data out. The plugin has the emulator's side.

pub mod bits;
pub mod code;
pub mod context;
pub mod plan;
pub mod role;
pub mod words;
