//! The paper's tables under checkers, the versions by which the other tables' readers read, and
//! mutants of them.

// Some of the mutants are texts of the library, which is made without std.
extern crate alloc;

mod broken;
mod cases;
mod growing;
mod loom;
mod mutants;
mod served;
mod shuttle;
