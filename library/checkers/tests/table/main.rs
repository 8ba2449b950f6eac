//! Tables as in SSYNC, tables that grow, and the versions that readers of the latter use, all under
//! checkers; and mutants of them.

// Some of the mutants are sources of the library, which is built without std.
extern crate alloc;

mod broken;
mod cases;
mod growing;
mod loom;
mod mutants;
mod served;
mod shuttle;
