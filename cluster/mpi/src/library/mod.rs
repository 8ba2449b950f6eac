//! The MPI library that the program uses: its constants, its functions, and its form of handles.
//!
//! MPI's C interface is defined for source code: each MPI library has its own types and numbers.
//! The differences are few. A handle is an `int` or a pointer. All constants that windows need are
//! in one table ([`Constants`]), which is chosen by the name of the loaded library.

pub mod below;
pub mod large;
mod progress;
mod table;
mod word;

pub use below::SUCCESS;
pub use progress::{drive, prepare};
pub use table::{Constants, constants};
pub use word::Word;
