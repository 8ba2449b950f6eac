//! The catalogue's entries, and the forms in which each lock can be requested by name.
//!
//! A form is a lock under a waiting policy: `ticket-spin`, `ticket-yield`, `ticket-park`. Under the
//! parking policy a lock whose waiters queue stands behind a [`Gate`](super::Gate), or an
//! [`RwGate`](super::RwGate) if it can be shared: `mcs-park` is `Gate<Mcs<Park>>`. Otherwise each
//! hand-over would wait until a sleeping waiter runs again. A lock that always parks has one form,
//! without a suffix; a lock whose waiters never sleep has no parking form. The second feature in a
//! lock's line of the catalogue decides which forms the lock has
//! ([`for_each_lock`](crate::for_each_lock)).

use super::about::{About, Order};

/// A lock of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Whether several threads can share the lock.
    pub shared: bool,
    /// Whether the lock has a try, which acquires it only if that needs no waiting.
    pub can_try: bool,
    /// Whether the lock's waiters can give up.
    pub timed: bool,
    /// The size of a lock, in bytes.
    pub bytes: usize,
    /// The size of what an acquisition carries until its release, in bytes.
    pub node_bytes: usize,
    /// What the documentation says about the lock.
    pub about: About,
}

impl Entry {
    /// Which waiter gets the lock's parking form next. The parking form has a gate if waiters
    /// queue.
    pub fn parking_order(&self) -> Order {
        match self.about.order {
            Order::Fifo | Order::FifoInGroup => Order::Bounded,
            order => order,
        }
    }
}

/// How a waiter of a form waits: the policies of [`wait`](crate::wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The waiter never offers its processor to other threads.
    Spins,
    /// The waiter offers its processor to other threads.
    Yields,
    /// The waiter sleeps after a while.
    Parks,
}

/// A lock under a waiting policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The lock's name, and the policy's as a suffix unless the lock always parks.
    pub name: &'static str,
    /// The lock's name.
    pub lock: &'static str,
    /// How a waiter waits.
    pub waiting: Waiting,
    /// The size of this form, in bytes.
    pub bytes: usize,
}

impl Form {
    /// Whether this form of a lock can replace a lock of POSIX. All parking forms can: if the lock
    /// itself has no try, it stands behind a gate, which has one. Any other form must have a try,
    /// as POSIX' locks do. And if such a form can be shared, it must need no nodes, because POSIX'
    /// objects have no room for a node of each reader.
    pub fn replaces_posix(&self, entry: &Entry) -> bool {
        self.waiting == Waiting::Parks || entry.can_try && !(entry.shared && entry.node_bytes != 0)
    }
}

/// Calls a macro with each form of each lock:
/// `$each! { form_name, Waiting, Type, lock_name, features }`.
///
/// The form's name is an expression. `Waiting` is a variant of [`Waiting`]. The type is complete: a
/// lock in the native memory, or in the memory that `for_each_form!(each in Memory)` names. The
/// features are those of [`for_each_lock`](crate::for_each_lock), whose documentation also explains
/// `$what`.
#[macro_export]
macro_rules! for_each_form {
    ($each:ident in $memory:ty $(, $what:tt)?) => {
        $crate::for_each_lock!($crate::__forms_of, { $each $memory, $($what)? });
    };
    ($each:ident $(, $what:tt)?) => {
        $crate::for_each_form!($each in $crate::memory::Native $(, $what)?);
    };
}

/// Calls the macro with each form of one lock. The second feature in the lock's line says which
/// forms there are.
#[doc(hidden)]
#[macro_export]
macro_rules! __forms_of {
    ({ $each:ident $memory:ty, $($what:tt)? } $name:ident, $type:ident,
        $use:ident parks $($feature:ident)*) => {
        $each! {
            $($what)? stringify!($name), Parks,
            $crate::lock::$type<$crate::wait::Park, $memory>, $name, $use parks $($feature)*
        }
    };
    ({ $each:ident $memory:ty, $($what:tt)? } $name:ident, $type:ident,
        $use:ident $forms:ident $($feature:ident)*) => {
        $each! {
            $($what)? concat!(stringify!($name), "-spin"), Spins,
            $crate::lock::$type<$crate::wait::Spin, $memory>, $name, $use $forms $($feature)*
        }
        $each! {
            $($what)? concat!(stringify!($name), "-yield"), Yields,
            $crate::lock::$type<$crate::wait::Yield, $memory>, $name, $use $forms $($feature)*
        }
        $crate::__parking_form_of! {
            { $each $($what)? } [$crate::lock::$type<$crate::wait::Park, $memory>]
            $name, $use $forms $($feature)*
        }
    };
}

/// The parking form of a lock that has others as well: the lock itself, or a gate before it.
#[doc(hidden)]
#[macro_export]
macro_rules! __parking_form_of {
    ($to:tt $parking:tt $name:ident, $use:ident spins $($feature:ident)*) => {};
    ({ $each:ident $($what:tt)? } [$parking:ty] $name:ident, $use:ident waits $($feature:ident)*) => {
        $each! {
            $($what)? concat!(stringify!($name), "-park"), Parks,
            $parking, $name, $use waits $($feature)*
        }
    };
    ({ $each:ident $($what:tt)? } [$parking:ty] $name:ident, exclusive queues $($feature:ident)*) => {
        $each! {
            $($what)? concat!(stringify!($name), "-park"), Parks,
            $crate::lock::Gate<$parking>, $name, exclusive queues $($feature)*
        }
    };
    ({ $each:ident $($what:tt)? } [$parking:ty] $name:ident, shared queues $($feature:ident)*) => {
        $each! {
            $($what)? concat!(stringify!($name), "-park"), Parks,
            $crate::lock::RwGate<$parking>, $name, shared queues $($feature)*
        }
    };
}
