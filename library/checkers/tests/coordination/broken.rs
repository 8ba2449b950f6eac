//! The mutants that the build script has written.

include!(concat!(env!("OUT_DIR"), "/coordination_mutants.rs"));
