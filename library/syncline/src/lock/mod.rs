//! The locks, and the catalogue of them.
//!
//! A lock is a generic type, such as `Ticket<W, M>`, with a waiting policy `W` and a memory `M`.
//! The traits of `raw.rs` that the lock implements say what it can do. Each file opens with the
//! lock's idea, its costs and limits, and its source. To use a lock, put a value into a mutex of
//! this lock: [`Mutex<T, Ticket>`](crate::Mutex).
//!
//! ```
//! use syncline::Mutex;
//! use syncline::lock::Mcs;
//! use syncline::wait::Spin;
//!
//! let parked = Mutex::<_, Mcs>::with_lock(5); // waiters sleep after a while
//! let spinning = Mutex::<_, Mcs<Spin>>::with_lock(5); // each thread has a processor of its own
//! assert_eq!(*parked.lock(), *spinning.lock());
//! ```
//!
//! The catalogue, [`for_each_lock`](crate::for_each_lock), is the only list: tests, checkers,
//! benchmarks, the C interface, the command line and the table in `docs/locks.md` are made from it.
//! To add a lock, write its file, and add its line to the catalogue.

#[doc(hidden)]
pub mod about;
pub mod anderson;
pub mod clh;
pub mod clh_timed;
pub mod cohort;
#[macro_use]
mod forms;
pub mod futex;
pub mod gate;
#[doc(hidden)]
pub mod handle;
pub mod hclh;
pub mod hmcs;
pub mod hmcs_timed;
#[doc(hidden)]
pub mod linked;
pub mod mcs;
pub mod mcs_timed;
#[cfg(all(test, feature = "std"))]
mod near;
#[doc(hidden)]
pub mod private;
#[doc(hidden)]
pub mod raw;
pub mod rw_compact;
pub mod rw_fair;
pub mod rw_flag;
pub mod rw_gate;
#[doc(hidden)]
pub mod rw_queues;
pub mod rw_readers;
pub mod rw_writers;
pub mod tas;
pub mod ticket;
#[doc(hidden)]
pub mod timed_queue;
#[doc(hidden)]
pub mod tree;
pub mod ttas;
pub mod upgradable;

pub use about::{About, Algorithm, Described, Order};
pub use anderson::Anderson;
pub use clh::Clh;
pub use clh_timed::TimedClh;
pub use cohort::{Cohort, CohortMcs, CohortTtasMcs, HierarchicalTicket, TimedCohort};
pub use forms::{Entry, Form, Waiting};
pub use futex::Futex;
pub use gate::{Gate, GatedClh};
pub use hclh::Hclh;
pub use hmcs::Hmcs;
pub use hmcs_timed::TimedHmcs;
pub use mcs::Mcs;
pub use mcs_timed::TimedMcs;
pub use raw::{Contended, Downgrade, RawLock, RawSharedLock, TimedLock, TimedSharedLock};
pub use raw::{TimedUpgrade, TryLock, TrySharedLock, Upgrade};
pub use rw_compact::CompactRw;
pub use rw_fair::FairRw;
pub use rw_flag::FlagRw;
pub use rw_gate::RwGate;
pub use rw_readers::ReadersFirst;
pub use rw_writers::WritersFirst;
pub use tas::Tas;
pub use ticket::{PrefetchingTicket, Ticket};
pub use ttas::Ttas;
pub use upgradable::Upgradable;

/// Calls a macro with each lock of the catalogue: `$each! { name, Type, features }`.
///
/// The features are bare words in this order:
///
/// 1. How many threads can hold the lock: `exclusive` if one at a time ([`RawLock`]), `shared` if
///    several at once ([`RawSharedLock`]).
/// 2. How the lock's waiters wait. This decides which [forms](crate::for_each_form) the lock has.
///    `waits`: as the policy says. `queues`: also as the policy says, but waiters follow each other
///    in a queue, so the parking form has a gate in front of the lock. `parks`: waiters always
///    park, whatever the policy says. `spins`: waiters spin or yield, but never park.
/// 3. What else the lock can do or promises: `try` ([`TryLock`]), `timed` ([`TimedLock`]), `fifo`
///    if waiters are served in order of arrival, `near` if they are served in that order only
///    within a group of near processors.
///
/// A token after the macro's name, if there is one, is passed on before the lock's name: with
/// `for_each_lock!(each, what)` the calls are `each! { what name, Type, features }`.
#[macro_export]
macro_rules! for_each_lock {
    ($each:path $(, $what:tt)?) => {
        $each! { $($what)? tas, Tas, exclusive waits try timed }
        $each! { $($what)? ttas, Ttas, exclusive waits try timed }
        $each! { $($what)? ticket, Ticket, exclusive queues try fifo }
        $each! { $($what)? ticket_prefetch, PrefetchingTicket, exclusive queues try fifo }
        $each! { $($what)? anderson, Anderson, exclusive queues try fifo }
        $each! { $($what)? mcs, Mcs, exclusive queues try fifo }
        $each! { $($what)? mcs_timed, TimedMcs, exclusive queues try timed fifo }
        $each! { $($what)? clh, Clh, exclusive queues fifo }
        $each! { $($what)? clh_timed, TimedClh, exclusive queues try timed fifo }
        $each! { $($what)? futex, Futex, exclusive parks try timed }
        $each! { $($what)? gate, GatedClh, exclusive parks try timed }
        $each! { $($what)? hticket, HierarchicalTicket, exclusive queues try near }
        $each! { $($what)? cohort_mcs, CohortMcs, exclusive queues try near }
        $each! { $($what)? cohort_ttas_mcs, CohortTtasMcs, exclusive queues try near }
        $each! { $($what)? cohort_timed, TimedCohort, exclusive queues try timed near }
        $each! { $($what)? hmcs, Hmcs, exclusive queues try near }
        $each! { $($what)? hmcs_timed, TimedHmcs, exclusive queues try timed near }
        $each! { $($what)? hclh, Hclh, exclusive queues near }
        $each! { $($what)? rw_fair, FairRw, shared queues fifo }
        $each! { $($what)? rw_readers, ReadersFirst, shared queues try }
        $each! { $($what)? rw_writers, WritersFirst, shared queues try }
        $each! { $($what)? rw_flag, FlagRw, shared spins try timed }
        $each! { $($what)? rw_compact, CompactRw, shared parks try timed }
    };
}

macro_rules! entry {
    ($list:ident $name:ident, $type:ident, $use:ident $forms:ident $($feature:ident)*) => {
        $list.push(Entry {
            name: stringify!($name),
            shared: is!($use shared),
            can_try: false $(|| is!($feature try))*,
            timed: false $(|| is!($feature timed))*,
            bytes: size_of::<$type>(),
            node_bytes: size_of::<<$type as RawLock>::Node>(),
            about: <$type as Described>::ABOUT,
        });
    };
}

macro_rules! is {
    (shared shared) => {
        true
    };
    (try try) => {
        true
    };
    (timed timed) => {
        true
    };
    ($word:tt $wanted:tt) => {
        false
    };
}

macro_rules! form {
    ($list:ident $form:expr, $waiting:ident, $type:ty, $name:ident, $($feature:ident)*) => {
        $list.push(Form {
            name: $form,
            lock: stringify!($name),
            waiting: Waiting::$waiting,
            bytes: size_of::<$type>(),
        });
    };
}

/// The locks of the catalogue, in its order.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
pub fn catalogue() -> alloc::vec::Vec<Entry> {
    let mut list = alloc::vec::Vec::new();
    for_each_lock!(entry, list);
    list
}

/// All forms of all locks.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes several")]
pub fn forms() -> alloc::vec::Vec<Form> {
    let mut list = alloc::vec::Vec::new();
    for_each_form!(form, list);
    list
}
