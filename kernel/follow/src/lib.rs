//! Finds a kernel's critical sections in what it executes.
//!
//! ```text
//! plan      which functions are what, and where the kernel's structures have their members
//!   +--> code      what each instruction means          (once, when it is translated)
//!          +--> context   locks held, level by level    (each time that it is executed)
//!                 +--> words    the address set of a section
//! ```
//!
//! All of it is plain data in, plain data out; the plugin has the emulator's side.

pub mod code;
pub mod context;
pub mod plan;
pub mod role;
pub mod words;
