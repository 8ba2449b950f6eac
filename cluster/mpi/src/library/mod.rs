//! Which MPI library the program uses: its constants, its functions, and what its handles are.
//!
//! The C interface of MPI is a source interface: each library has types and numbers of its own. They
//! differ in little. A handle is an `int` or a pointer; all constants that windows need are in one
//! table here ([`Constants`]), chosen by the name of the library that is loaded.
//!
//! Every argument that this crate only passes on is a [`Word`]. On x86-64 an integer or a pointer
//! takes one register, or eight bytes of the stack, of which a function that expects an `int` reads
//! the lower half. So a handle is passed to a function that takes an `int` as well as to one that
//! takes a pointer, and only where a handle is compared or read from memory its width matters
//! ([`Constants::handle`], [`Constants::read_handle`]).

pub mod below;
mod progress;
mod table;

pub use progress::{drive, prepare};
pub use table::{Constants, constants};

/// An argument that is passed on as it is: a handle, a pointer or a number.
pub type Word = usize;

/// What MPI's functions return for success.
pub const SUCCESS: i32 = 0;
