//! How a thread waits for a shared word: a policy, chosen by type.
//!
//! | policy | a waiter | use it when |
//! |---|---|---|
//! | [`Spin`] | looks again, with short pauses | every thread has a processor of its own |
//! | [`Yield`] | spins for a while, then yields between looks | threads outnumber processors a little, or parking is not available |
//! | [`Park`] | spins for a while, then sleeps in the kernel | anything else |
//!
//! A policy has two halves that must agree: how the waiter waits, and how the word that it watches
//! is written. So if threads wait for a word through a policy, the word is written through the same
//! policy. Such a word **holds even values only**: bit 0 is [`PARKED`], by which a sleeper asks to
//! be woken.
//!
//! The waiter's last look has Acquire ordering, and [`Wait::hand_over`] has Release ordering. So
//! everything that happened before the word was written is visible after the wait.

mod park;
#[doc(hidden)]
pub mod policy;
mod spin;
#[doc(hidden)]
pub mod r#yield;

pub use park::Park;
pub use policy::{PARKED, Wait};
pub use spin::Spin;
pub use r#yield::Yield;
