//! The mutants that the build script has written.

include!(concat!(env!("OUT_DIR"), "/window_mutants.rs"));
