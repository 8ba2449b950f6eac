//! Transactions: reads and writes of many cells that happen at one moment.
//!
//! ```
//! use syncline::stm::{TCell, atomically};
//!
//! static SAVINGS: TCell<i64> = TCell::new(100);
//! static CURRENT: TCell<i64> = TCell::new(0);
//!
//! atomically(|tx| {
//!     let (savings, current) = (SAVINGS.get(tx)?, CURRENT.get(tx)?);
//!     SAVINGS.set(tx, savings - 70);
//!     CURRENT.set(tx, current + 70);
//!     Ok(())
//! });
//! assert_eq!(atomically(|tx| Ok(SAVINGS.get(tx)? + CURRENT.get(tx)?)), 100);
//! ```
//!
//! Functions that take a [`Tx`] combine into larger transactions; functions that lock don't combine
//! that way. A [`TCell`] holds a small value that is copied, a [`TVar`] a value of any type.
//! [`Tx::retry`] waits until another transaction changes what was read, [`Tx::or_else`] tries one
//! transaction and then another. The documentation of [`atomically`] has the guarantees.
//!
//! **Panics** in the closure propagate, and the transaction has no effect. So a panic poisons
//! nothing.
//!
//! **Nested use**: a transaction can't contain another. A function that is part of the transaction
//! takes `tx` as an argument. Calling [`atomically`] in a closure panics, with any engine in native
//! memory. (Without `std`, nesting goes unnoticed.)
//!
//! **Waiting** for another thread inside a closure, other than by [`Tx::retry`], may last forever:
//! that thread may be held up until this transaction is over.
//!
//! **Engines**: [`Shared`] has a versioned lock in each cell, [`Served`] has lock servers, to which
//! transactions send requests. Cells belong to an engine; the default one is [`GLOBAL`], which is a
//! `Shared`. Other engines, some of them in other kinds of memory, are used through one [`Session`]
//! for each thread.

// The hidden modules are parts of the engines, public for the checkers, which break them one by
// one. Operations that are only sound under a condition are unsafe there as well.
mod attempt;
mod cell;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod engine;
mod global;
mod guarded;
#[doc(hidden)]
pub mod holds;
mod nested;
#[doc(hidden)]
pub mod pace;
#[doc(hidden)]
pub mod serial;
#[doc(hidden)]
pub mod served;
#[doc(hidden)]
pub mod server;
mod session;
pub mod shared;
#[doc(hidden)]
pub mod sleepers;
#[doc(hidden)]
pub mod stop;
#[doc(hidden)]
pub mod turns;
mod tx;
mod var;
#[doc(hidden)]
pub mod writes;

pub use bytemuck::NoUninit;
pub use cell::TCell;
pub use engine::Engine;
#[cfg(feature = "std")]
pub use global::atomically;
pub use global::{GLOBAL, Global};
pub use served::Served;
pub use server::Server;
pub use session::Session;
pub use shared::Shared;
pub use stop::{Result, Stop};
pub use tx::Tx;
pub use var::TVar;
