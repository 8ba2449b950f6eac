//! The catalogue as data, and the forms in which each lock can be asked for by name.
//!
//! A form is a lock under a waiting policy: `ticket-spin`, `ticket-yield`, `ticket-park`. Under
//! the parking policy a lock whose waiters queue stands behind a [`Gate`](super::Gate), or an
//! [`RwGate`](super::RwGate) if it can be shared: `mcs-park` is `Gate<Mcs<Park>>`. Otherwise each
//! hand-over would wait until a sleeper is back on a processor. A lock that always parks has one
//! form, without a suffix; one that never sleeps has no parking form.

use super::{About, Described, Order};

/// A lock of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Several threads can share it.
    pub shared: bool,
    /// It can be tried.
    pub can_try: bool,
    /// Waiting for it can be given up.
    pub timed: bool,
    /// The size of a lock, in bytes.
    pub bytes: usize,
    /// The size of what an acquisition carries until its release, in bytes.
    pub node_bytes: usize,
    /// What there is to say about it.
    pub about: About,
}

impl Entry {
    /// Who gets the lock next in its parking form, which stands behind a gate if waiters queue.
    pub fn parking_order(&self) -> Order {
        match self.about.order {
            Order::Fifo | Order::FifoInGroup => Order::Bounded,
            order => order,
        }
    }
}

/// A lock under a waiting policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The name: the lock's, and the policy's.
    pub name: &'static str,
    /// The lock's name.
    pub lock: &'static str,
    /// The size of this form, in bytes.
    pub bytes: usize,
}

impl Form {
    /// Whether this form of a lock can take the place of POSIX' locks. Those can be tried, and so
    /// can every lock behind a gate, where parking forms stand. And their objects have no room for
    /// a node of each reader.
    pub fn replaces_posix(&self, entry: &Entry) -> bool {
        let parks = self.name == self.lock || self.name.ends_with("-park");
        parks || entry.can_try && !(entry.shared && entry.node_bytes != 0)
    }
}

macro_rules! entry {
    ($list:ident $name:ident, $type:ident, $($feature:ident)*) => {
        $list.push(Entry {
            name: stringify!($name),
            shared: false $(|| has!($feature shared))*,
            can_try: false $(|| has!($feature try))*,
            timed: false $(|| has!($feature timed))*,
            bytes: size_of::<super::$type>(),
            node_bytes: size_of::<<super::$type as super::RawLock>::Node>(),
            about: <super::$type as Described>::ABOUT,
        });
    };
}

macro_rules! has {
    (shared shared) => {
        true
    };
    (try try) => {
        true
    };
    (timed timed) => {
        true
    };
    ($feature:tt $wanted:tt) => {
        false
    };
}

macro_rules! form {
    ($list:ident $form:expr, $type:ty, $name:ident, $($feature:ident)*) => {
        $list.push(Form { name: $form, lock: stringify!($name), bytes: size_of::<$type>() });
    };
}

/// The locks of the catalogue, in its order.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes one")]
pub fn catalogue() -> alloc::vec::Vec<Entry> {
    let mut list = alloc::vec::Vec::new();
    crate::for_each_lock!(entry, list);
    list
}

/// All forms of all locks.
#[allow(clippy::vec_init_then_push, reason = "each line of the catalogue pushes several")]
pub fn forms() -> alloc::vec::Vec<Form> {
    let mut list = alloc::vec::Vec::new();
    crate::for_each_form!(form, list);
    list
}

/// Calls a macro with each form of each lock: `$each! { form_name, Type, lock_name, features }`,
/// where the form's name is an expression, the type is complete, and the features are those of
/// [`for_each_lock`](crate::for_each_lock), which also says what `$what` is for.
#[macro_export]
macro_rules! for_each_form {
    ($each:ident $(, $what:tt)?) => {
        $crate::for_each_lock!($crate::__forms_of, { $each $($what)? });
    };
}

/// The forms of one lock.
#[doc(hidden)]
#[macro_export]
macro_rules! __forms_of {
    ($to:tt $name:ident, $type:ident, exclusive $($feature:ident)*) => {
        $crate::__forms_by_feature! {
            $to Gate, $name, $type, [exclusive $($feature)*] $($feature)*
        }
    };
    ($to:tt $name:ident, $type:ident, shared $($feature:ident)*) => {
        $crate::__forms_by_feature! {
            $to RwGate, $name, $type, [shared $($feature)*] $($feature)*
        }
    };
}

/// Looks through a lock's features for the one that decides about its forms.
#[doc(hidden)]
#[macro_export]
macro_rules! __forms_by_feature {
    ({ $each:ident $($what:tt)? } $gate:ident, $name:ident, $type:ident, [$($all:ident)*] parks) => {
        $each! { $($what)? stringify!($name), $crate::lock::$type, $name, $($all)* }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt spins) => {
        $crate::__waking_forms! { $to $name, $type, $all }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt fifo $($rest:ident)*) => {
        $crate::__three_forms! {
            $to $name, $type, $crate::lock::$gate<$crate::lock::$type<$crate::wait::Park>>, $all
        }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt near) => {
        $crate::__forms_by_feature! { $to $gate, $name, $type, $all fifo }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt queued) => {
        $crate::__forms_by_feature! { $to $gate, $name, $type, $all fifo }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt) => {
        $crate::__three_forms! { $to $name, $type, $crate::lock::$type<$crate::wait::Park>, $all }
    };
    ($to:tt $gate:ident, $name:ident, $type:ident, $all:tt $feature:ident $($rest:ident)*) => {
        $crate::__forms_by_feature! { $to $gate, $name, $type, $all $($rest)* }
    };
}

/// A lock's forms under each policy, of which the parking one is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __three_forms {
    ({ $each:ident $($what:tt)? } $name:ident, $type:ident, $park:ty, [$($all:ident)*]) => {
        $crate::__waking_forms! { { $each $($what)? } $name, $type, [$($all)*] }
        $each! { $($what)? concat!(stringify!($name), "-park"), $park, $name, $($all)* }
    };
}

/// A lock's forms under the policies that never sleep.
#[doc(hidden)]
#[macro_export]
macro_rules! __waking_forms {
    ({ $each:ident $($what:tt)? } $name:ident, $type:ident, [$($all:ident)*]) => {
        $each! { $($what)? concat!(stringify!($name), "-spin"), $crate::lock::$type<$crate::wait::Spin>, $name, $($all)* }
        $each! { $($what)? concat!(stringify!($name), "-yield"), $crate::lock::$type<$crate::wait::Yield>, $name, $($all)* }
    };
}
