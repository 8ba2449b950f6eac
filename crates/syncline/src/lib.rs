//! Locks, each written once, over a [`memory`].
//!
//! An algorithm here is a textbook's text: its shared words, its acquisition, its release. What
//! a word is and where it lives is a type parameter, the [`Memory`](memory::Memory): the
//! processor's own ([`Native`](memory::Native)), a model checker's, a simulated machine's. How a
//! thread waits is another, the [`Wait`](wait::Wait): spinning, yielding, or parking in the
//! kernel. So the text that is checked exhaustively is the text that is shipped.
//!
//! [`Mutex`] and [`RwLock`] put a value under a lock; [`lock`] has the locks and the catalogue of
//! them. [`stm`] has transactions, which need none.
//!
//! Waiters that [park](wait::Park) sleep by the kernel's futex on Linux, and by the means of the
//! standard library on other systems; there, without the feature `std`, they spin, and deadlines
//! never pass. On WebAssembly with threads the tables that grow can't be built.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod channel;
mod condvar;
pub mod delegation;
pub mod lock;
#[cfg(feature = "lock_api")]
pub mod lock_api;
pub mod memory;
mod mutex;
mod owner;
mod rwlock;
#[cfg(target_has_atomic = "64")]
pub mod stm;
pub mod table;
pub mod wait;
pub mod window;

pub use condvar::{Condvar, TimedOut};
pub use mutex::{Guard, Mutex};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
