//! The functions of the types, `syncline_NAME_lock` and so on: for each lock of the catalogue in
//! its parking form, which is suitable everywhere. A lock that never sleeps is in its yielding
//! form.

use std::ffi::c_int;

use libc::timespec;
use syncline::Condvar;

use crate::boundary::{at, boundary};
use crate::calls::{Lock, Share, Timed, TimedShare, Try, TryShare, destroy};
use crate::deadline;

/// Calls a macro with each lock of the catalogue in its parking form, its only form, or the
/// yielding one:
/// `$each! { [what] Type, name, features }`.
macro_rules! for_each_type {
    ($each:ident $what:tt) => {
        syncline::for_each_form!(parking, { $each $what });
    };
}
#[cfg(test)]
pub(crate) use for_each_type;

/// Picks a lock's parking form, or the yielding one of a lock that only spins.
macro_rules! parking {
    ({ $each:ident $what:tt } $form:expr, Parks, $type:ty, $($about:tt)*) => {
        $each! { $what $type, $($about)* }
    };
    ({ $each:ident $what:tt } $form:expr, Yields, $type:ty, $name:ident,
        $use:ident spins $($feature:ident)*) => {
        $each! { $what $type, $name, $use spins $($feature)* }
    };
    ($to:tt $form:expr, $waiting:ident, $type:ty, $($about:tt)*) => {};
}
#[cfg(test)]
pub(crate) use parking;

/// The C type of a lock with these features. A lock that can't be tried counts its users.
macro_rules! type_of {
    ($lock:ty, exclusive try $($more:ident)*) => { $crate::exclusive::Exclusive<$lock, false> };
    ($lock:ty, exclusive $($more:ident)*) => { $crate::exclusive::Exclusive<$lock, true> };
    ($lock:ty, shared try $($more:ident)*) => { $crate::shared::Shared<$lock, false> };
    ($lock:ty, shared $($more:ident)*) => { $crate::shared::Shared<$lock, true> };
}
pub(crate) use type_of;

/// The functions of a lock, by its features.
macro_rules! export {
    ({} $lock:ty, $name:ident, $kind:ident $forms:ident $($feature:ident)*) => {
        mod $name {
            use super::*;

            type Type = type_of!($lock, $kind $($feature)*);

            function!($name, "_unlock", Lock::unlock);
            function!($name, "_wait", Lock::wait, cond);
            function!($name, "_timedwait", Lock::wait, cond, deadline);
            $kind!($name, $($feature)*);

            #[unsafe(export_name = concat!("syncline_", stringify!($name), "_destroy"))]
            unsafe extern "C" fn end(lock: *mut Type) -> c_int {
                boundary(|| {
                    // SAFETY: it may be zero, and C's caller does not move it.
                    unsafe {
                        at::<Type>(lock)?;
                        destroy(lock)
                    }
                })
            }
        }
    };
}

macro_rules! exclusive {
    ($name:ident, try timed $($feature:ident)*) => {
        function!($name, "_timedlock", Timed::lock_until, deadline);
        exclusive!($name, try);
    };
    ($name:ident, try $($feature:ident)*) => {
        function!($name, "_trylock", Try::try_lock);
        exclusive!($name,);
    };
    ($name:ident, $($feature:ident)*) => {
        function!($name, "_lock", Lock::lock);
    };
}

macro_rules! shared {
    ($name:ident, try timed $($feature:ident)*) => {
        function!($name, "_timedrdlock", TimedShare::share_until, deadline);
        function!($name, "_timedwrlock", Timed::lock_until, deadline);
        shared!($name, try);
    };
    ($name:ident, try $($feature:ident)*) => {
        function!($name, "_tryrdlock", TryShare::try_share);
        function!($name, "_trywrlock", Try::try_lock);
        shared!($name,);
    };
    ($name:ident, $($feature:ident)*) => {
        function!($name, "_rdlock", Share::share);
        function!($name, "_wrlock", Lock::lock);
    };
}

/// One function: checks its arguments, then calls. The function has a block of its own, since all
/// these functions have the same name in Rust.
macro_rules! function {
    ($name:ident, $end:literal, $call:path) => {
        const _: () = {
            #[unsafe(export_name = concat!("syncline_", stringify!($name), $end))]
            unsafe extern "C" fn call(lock: *const Type) -> c_int {
                // SAFETY: a lock may be zero, and C's caller does not move it.
                boundary(|| $call(unsafe { at::<Type>(lock) }?))
            }
        };
    };
    ($name:ident, $end:literal, $call:path, deadline) => {
        const _: () = {
            #[unsafe(export_name = concat!("syncline_", stringify!($name), $end))]
            unsafe extern "C" fn call(lock: *const Type, until: *const timespec) -> c_int {
                // SAFETY: as above; a time may be zero.
                boundary(|| unsafe { $call(at::<Type>(lock)?, deadline::read(until)?) })
            }
        };
    };
    ($name:ident, $end:literal, $call:path, cond) => {
        const _: () = {
            #[unsafe(export_name = concat!("syncline_", stringify!($name), $end))]
            unsafe extern "C" fn call(lock: *const Type, cond: *const Condvar) -> c_int {
                // SAFETY: as above; a condition variable may be zero.
                boundary(|| unsafe { $call(at::<Type>(lock)?, at(cond)?, None) })
            }
        };
    };
    ($name:ident, $end:literal, $call:path, cond, deadline) => {
        const _: () = {
            #[unsafe(export_name = concat!("syncline_", stringify!($name), $end))]
            unsafe extern "C" fn call(
                lock: *const Type,
                cond: *const Condvar,
                until: *const timespec,
            ) -> c_int {
                // SAFETY: as above.
                boundary(|| unsafe {
                    $call(at::<Type>(lock)?, at(cond)?, Some(deadline::read(until)?))
                })
            }
        };
    };
}

for_each_type!(export {});
