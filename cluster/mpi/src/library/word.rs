//! An argument that is passed on as it is.
//!
//! Every argument that this crate only passes on is a [`Word`]. On x86-64 an integer or a pointer
//! takes one register, or eight bytes of the stack, of which a function that expects an `int` reads
//! the lower half. So a handle is passed to a function that takes an `int` as well as to one that
//! takes a pointer, and only where a handle is compared or read from memory its width matters
//! (`handle` and `read_handle` of the table's constants).

/// An argument that is passed on as it is: a handle, a pointer or a number.
pub type Word = usize;
