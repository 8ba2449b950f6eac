//! The C library's functions that acquire a lock or wait.

mod c11;
mod cond;
mod event;
mod mutex;
mod rwlock;
mod spin;

use core::ffi::c_int;

use libc::EOWNERDEAD;

use crate::options::Kind;
use crate::sites;
use crate::unwind::Caller;
use crate::{counts, delay};

/// Acquires a lock by a call that may wait. A delay of the section is spent while the lock is held.
///
/// The caller is looked up before the acquisition. The look-up may acquire the loader's lock, which
/// a thread must not do while it holds a lock of the program.
#[inline(always)]
fn acquire(caller: Caller, block: impl FnOnce() -> c_int) -> c_int {
    let Some(site) = sites::of(caller) else { return block() };
    delay::at(site, Kind::Call);
    let result = block();
    if is_acquired(result) {
        counts::count(site, Kind::Section);
        delay::at(site, Kind::Section);
    }
    result
}

/// Tries to acquire a lock. A refused try has a delay of its own kind.
#[inline(always)]
fn attempt(caller: Caller, attempt: impl FnOnce() -> c_int) -> c_int {
    let Some(site) = sites::of(caller) else { return attempt() };
    delay::at(site, Kind::Call);
    let result = attempt();
    let kind = if is_acquired(result) { Kind::Section } else { Kind::Try };
    counts::count(site, kind);
    delay::at(site, kind);
    result
}

/// Waits for an event. The delay is spent after the wait.
#[inline(always)]
fn wait(caller: Caller, wait: impl FnOnce() -> c_int) -> c_int {
    let Some(site) = sites::of(caller) else { return wait() };
    let result = wait();
    counts::count(site, Kind::Wait);
    delay::at(site, Kind::Wait);
    result
}

/// Whether the lock is held now, which it is even if its last owner died while holding it.
fn is_acquired(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}

/// `passed! { HOW: fn NAME(args) = VERSION; }` interposes functions whose calls the function `HOW`
/// passes on.
macro_rules! passed {
    ($($how:ident: fn $name:ident($($arg:ident: $type:ty),*) $(= $version:literal)?;)*) => {
        syncline_interpose::entry! { $(fn $name($($arg: $type),*) -> c_int;)* }

        mod real {
            use super::*;
            syncline_interpose::real! { $(fn $name($($arg: $type),*) -> c_int $(= $version)?;)* }
        }

        mod imp {
            use super::*;
            $(
                pub unsafe extern "C-unwind" fn $name(
                    $($arg: $type,)*
                    caller: crate::unwind::Caller,
                ) -> c_int {
                    // SAFETY: the program's own call.
                    crate::interpose::$how(caller, || unsafe { real::$name($($arg),*) })
                }
            )*
        }
    };
}
use passed;
