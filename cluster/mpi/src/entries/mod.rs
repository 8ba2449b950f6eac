//! The functions that the program calls in place of the MPI library's.
//!
//! Each looks for the window, and passes the call on where there is none under a scheme.

mod epochs;
mod extensions;
mod operations;
mod windows;
