//! The mutants, as the build script has written them.

include!(concat!(env!("OUT_DIR"), "/delegation_mutants.rs"));
