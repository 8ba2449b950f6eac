//! Where shared words live, and what an access to one means.
//!
//! A [`Memory`] has two kinds of shared words. A [`Word`] holds 32 bits, for example a flag, a
//! ticket or a counter, and threads can sleep on it. A [`Link`] refers to a node of a queue, or is
//! empty. A link holds the memory's kind of reference ([`Memory::Ref`]), not a pointer: in another
//! machine's memory it is a rank and a displacement.
//!
//! **Zero is the initial state.** A word starts as 0 and a link empty, and every algorithm is
//! written so that this means "free". A lock can therefore be placed in zeroed memory, be a
//! `static`, and be initialised in C by `{0}`.
//!
//! A new memory implements the four traits in this module. Some parts of the library need one trait
//! more: versions, transactions and channels of many senders need `LongMemory`, and the tables that
//! grow need `Blocks`. Nothing else in the library depends on which memory it is.

mod barrier;
#[cfg(all(feature = "growing", target_has_atomic = "64"))]
mod blocks;
mod group;
#[cfg(all(test, feature = "std"))]
mod grouped;
mod interface;
mod lazy;
#[cfg(target_has_atomic = "64")]
mod long;
mod native;
mod node;
mod padded;
#[cfg(all(feature = "std", any(test, not(target_os = "linux"))))]
mod parking;
mod place;
mod pool;
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod topology;

#[cfg(all(feature = "growing", target_has_atomic = "64"))]
#[doc(hidden)]
pub use blocks::objects;
#[cfg(all(feature = "growing", target_has_atomic = "64"))]
pub use blocks::{BlockHead, Blocks, Words};
#[cfg(all(test, feature = "std"))]
pub(crate) use grouped::Grouped;
pub use interface::{Address, Data, Link, Memory, Own, Word};
pub use lazy::Lazy;
#[cfg(target_has_atomic = "64")]
pub use long::{Long, LongMemory};
pub use native::Native;
pub use node::{OnStack, Pooled};
pub use padded::Padded;
