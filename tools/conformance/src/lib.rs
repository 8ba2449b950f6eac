//! Tests that recording counts right and changes no program.
//!
//! The expected counts come from the programs under test, never from our own code: a program in
//! `programs/` counts what it does and prints it, and a test compares that with the recording,
//! number by number.
//!
//! - [`Program`] is a source file of `programs/`, compiled if its text has changed;
//! - [`Case`] runs it plainly and under `syncline record`, with a limit on its time, and
//!   requires the same output and the same exit status;
//! - [`Truth`] is what the program stated about itself (`programs/truth.h` has the format), and
//!   [`Recording`] adds up what was counted.
//!
//! Nothing here depends on how the counting is done.

mod case;
mod compile;
mod functions;
mod limits;
mod mariadb;
mod outcome;
mod paths;
mod recording;
mod truth;

pub use case::{Both, Case};
pub use compile::Program;
pub use functions::Functions;
pub use limits::{eventually, is_root, run_limited};
pub use mariadb::MARIADB;
pub use outcome::Outcome;
pub use paths::{
    beside_tests, delay_library, inspect_library, mpi_library, preload_library, replace_library,
    scratch, syncline,
};
pub use recording::{Counter, Recording};
pub use truth::{Fact, Truth};
