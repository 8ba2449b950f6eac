//! Policy files: which lock of the catalogue each object of a program gets, by the call site that
//! creates or acquires it, by its name, or by its address. `docs/policy.md` describes the file.
//!
//! Three steps, each in a module of its own:
//!
//! 1. [`Policy`] is what a file says ([`Policy::read`]), and how one is written, with comments
//!    ([`Policy::text`]);
//! 2. [`Files`] are those of the program, which may have changed since;
//! 3. a [`Plan`] is the form for the library in the program: addresses instead of names, and
//!    [`Remark`]s on names that no longer match.
//!
//! This crate knows no locks: its caller says whether a name is that of a lock.

mod file;
mod files;
mod plan;
mod remark;
mod text;

pub use file::{Error, Policy, Rule, Subject};
pub use files::Files;
pub use plan::Plan;
pub use remark::{Remark, Why};

/// The manual page of policy files, syncline-policy(5), as `man` reads it.
pub const MAN_PAGE: &str = include_str!("../man/syncline-policy.5");
