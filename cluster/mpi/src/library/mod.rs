//! Which MPI library the program uses: its constants, its functions, and what its handles are.
//!
//! The C interface of MPI is a source interface: each library has types and numbers of its own. They
//! differ in little. A handle is an `int` or a pointer; all constants that windows need are in one
//! table here ([`Constants`]), chosen by the name of the library that is loaded.

pub mod below;
pub mod large;
mod progress;
mod table;
mod word;

pub use below::SUCCESS;
pub use progress::{drive, prepare};
pub use table::{Constants, constants};
pub use word::Word;
