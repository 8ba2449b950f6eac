//! Tests of Syncline with whole programs: `syncline record` counts correctly, and no command
//! changes the behaviour of programs.
//!
//! The expected counts never come from Syncline's code, but from the programs under test: a program
//! in `programs/` counts what it does and prints the counts. A test compares each count with the
//! recording.
//!
//! - [`Program`] is a source file in `programs/`; it is compiled again if its text, a header or the
//!   command line has changed;
//! - [`Case`] runs the program plainly and under `syncline record`, each with a time limit, and
//!   requires equal output and equal exit statuses;
//! - [`Truth`] is what the program states about itself (`programs/truth.h` has the format), and
//!   [`Recording`] adds up the recorded counts.
//!
//! Nothing here depends on the way in which Syncline counts.

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
    scratch, syncline, unmodified_library,
};
pub use recording::{Counter, Recording};
pub use truth::{Fact, Truth};
