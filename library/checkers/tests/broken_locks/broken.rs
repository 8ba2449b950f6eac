//! The mutants that the build script has written.

include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
