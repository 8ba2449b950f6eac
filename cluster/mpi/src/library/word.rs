//! Arguments that are passed on unchanged.
//!
//! Every argument that this crate only passes on is a [`Word`]. On x86-64 an integer or a pointer
//! takes one register, or eight bytes of the stack, of which a function that expects an `int` reads
//! the lower half. So a handle can be passed to a function that takes an `int` and to one that
//! takes a pointer. A handle's width matters only when it is compared or read from memory (`handle`
//! and `read_handle` of the table's constants).

/// An argument that is passed on unchanged: a handle, a pointer or a number.
pub type Word = usize;
