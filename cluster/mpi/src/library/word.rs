//! Arguments that are passed on unchanged.
//!
//! Every argument that this crate only passes on is a [`Word`]. On x86-64, an integer or a pointer
//! is passed in one register, or in eight bytes of the stack; a function that expects an `int`
//! reads the lower half. So a [`Word`] can carry a handle both to a function that takes an `int`
//! and to one that takes a pointer. The width of handles matters only when a handle is compared or
//! read from memory (`handle` and `read_handle` of `Constants`).

/// An argument that is passed on unchanged: a handle, a pointer or a number.
pub type Word = usize;
