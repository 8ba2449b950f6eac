//! Delegation: a critical section goes to the lock's holder instead of the lock to the section.
//!
//! Under an ordinary lock the protected data moves to each next holder's processor. Here a thread
//! hands its section to the lock's holder, the *helper*, which runs many of them in a row with the
//! data in its own cache. For short sections on contended data no other kind of lock here is as
//! fast. A thread need not wait for a section whose result it doesn't want at once.
//!
//! ```
//! use syncline::delegation::Delegated;
//!
//! static QUEUE: Delegated<Vec<u32>> = Delegated::new(Vec::new());
//!
//! let pushed = QUEUE.delegate(|queue| queue.push(7));
//! pushed.wait();
//! let last = QUEUE.with(|queue| queue.pop());
//! assert_eq!(last, Some(7));
//! ```
//!
//! **Which thread runs a section:** any thread that is inside a call to this lock. So a section
//! must be `Send`. In a section, thread-local variables, the thread's name and recursive locks are
//! those of the helper. A section must not call its own lock, nor wait for a [`Pending`] of that
//! lock: the section would wait for itself, even if the helper is another thread. (In debug builds
//! with the feature `std`, a call of a [`Delegated`] panics in a thread that is running one of its
//! sections.) If a section waits for something, so do its helper and all threads whose sections the
//! helper has accepted.
//!
//! **Order:** each section runs exactly once, and the sections of one thread run in the order of
//! its calls ([`Hqd`] has an exception). A section sees what happened before its call, and what
//! earlier sections did. Its own effects are visible after [`Delegated::with`] or [`Pending::wait`]
//! has returned, or [`Pending::is_done`] has returned `true`.
//!
//! **Panics:** a section's panic goes neither through the helper nor into the lock, which is not
//! poisoned: the next section finds the value as the panic left it. The panic is resumed in the
//! thread that waits for the section. If no thread waits, the only trace of the panic is the panic
//! hook's report, made by the helper when the panic happened. Without the feature `std` a panic
//! can't be caught, and aborts the program.
//!
//! **Dropping:** a lock can only be dropped when no call to it is left, and the last call returns
//! when all sections have run. So nothing is pending then.
//!
//! A [`Server`] runs sections in a thread of its own; they are sent to it over
//! [channels](crate::channel).
//!
//! Like a lock in [`lock`], a delegation lock is a type over a waiting policy and a memory. It
//! implements [`RawDelegation`]: it gets requests to run, and does not know what they do. The
//! catalogue is [`for_each_delegation`](crate::for_each_delegation).
//!
//! [`lock`]: crate::lock

pub mod cc_synch;
mod delegated;
mod frame;
pub mod hqd;
mod inside;
#[doc(hidden)]
pub mod line;
#[doc(hidden)]
pub mod panics;
mod pending;
pub mod qd;
mod queue;
#[doc(hidden)]
pub mod raw;
#[doc(hidden)]
pub mod request;
mod server;
#[cfg(all(test, feature = "std"))]
mod tests;

pub use cc_synch::CcSynch;
pub use delegated::Delegated;
pub use hqd::Hqd;
pub use pending::Pending;
pub use qd::Qd;
pub use raw::RawDelegation;
pub use request::Request;
pub use server::{Client, Server};

use crate::lock::{Described, Entry};

macro_rules! entry {
    ($list:ident $name:ident, $type:ident, $($feature:ident)*) => {
        $list.push(Entry {
            name: stringify!($name),
            shared: false,
            can_try: false,
            timed: false,
            bytes: size_of::<$type>(),
            node_bytes: 0,
            about: <$type as Described>::ABOUT,
        });
    };
}

/// The delegation locks of the catalogue, in its order.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
pub fn catalogue() -> alloc::vec::Vec<Entry> {
    let mut list = alloc::vec::Vec::new();
    crate::for_each_delegation!(entry, list);
    list
}

/// Calls a macro with each delegation lock of the catalogue: `$each! { name, Type, features }`.
///
/// The features are bare words in this order, each standing for a claim: `ordered`, if the sections
/// of a thread run in the order of the thread's calls, wherever the thread runs; `fifo`, if all
/// sections run in the order of the calls.
///
/// A second argument is passed on before the name: with `for_each_delegation!(each, what)` the
/// calls are `each! { what name, Type, features }`.
#[macro_export]
macro_rules! for_each_delegation {
    ($each:path $(, $what:tt)?) => {
        $each! { $($what)? qd, Qd, ordered }
        $each! { $($what)? hqd, Hqd, }
        $each! { $($what)? cc_synch, CcSynch, ordered fifo }
    };
}
