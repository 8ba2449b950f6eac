//! The mutants, as the build script has written them.

include!(concat!(env!("OUT_DIR"), "/channel_mutants.rs"));
