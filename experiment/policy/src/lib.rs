//! Policy files: which lock of the catalogue each object of a program gets, by the call site that
//! creates or acquires it, by its name, or by its address. `docs/policy.md` describes the file.
//!
//! The three steps:
//!
//! 1. a [`Policy`] is the content of a file. It is read with [`Policy::read`] and written, with
//!    comments, with [`Policy::text`];
//! 2. [`Files`] are the program's files, which may have changed since the policy was written;
//! 3. a [`Plan`] is the policy in the form for the library in the program, with addresses instead
//!    of names, and with [`Remark`]s on names that no longer match as before.
//!
//! This crate does not know the locks: its caller checks their names.

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
