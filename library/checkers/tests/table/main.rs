//! SSYNC's tables and those that grow, under checkers; the versions that the latter's readers use;
//! and mutants of them.

// Some of the mutants are sources of the library, which is built without std.
extern crate alloc;

mod broken;
mod cases;
mod growing;
mod loom;
mod mutants;
mod served;
mod shuttle;
