//! The paper's table under checkers, the versions by which the other tables' readers read, and
//! mutants of them.

mod broken;
mod cases;
mod loom;
mod mutants;
mod shuttle;
