//! The operations on a mutex, by a lock `L` of the catalogue or by the C library.

use core::ffi::c_int;

use libc::{clockid_t, timespec};
use syncline::lock::TryLock;

use super::layout::Mutex;
use super::until::Until;
use super::{general, plain, real};
use crate::memory::Own;

type Call = unsafe fn(*const Mutex) -> c_int;
type CallUntil = unsafe fn(*const Mutex, clockid_t, *const timespec) -> c_int;

/// The operations on a mutex, each with the behaviour that POSIX requires.
#[derive(Clone, Copy)]
pub struct Ops {
    pub lock: Call,
    pub try_lock: Call,
    pub lock_until: CallUntil,
    pub unlock: Call,
    pub destroy: Call,
    /// Whether this mutex is replaced: 1 or 0.
    pub is_ours: Call,
    /// Called after the mutex was initialised.
    pub made: unsafe fn(*const Mutex),
    /// Whether a lock replaces mutexes at all.
    pub replaces: bool,
}

impl Ops {
    /// The operations by a lock.
    pub const fn of<L: TryLock<Memory = Own>, U: Until<L>>() -> Ops {
        Ops {
            lock: plain::lock::<L>,
            try_lock: general::try_lock::<L>,
            lock_until: general::lock_until::<L, U>,
            unlock: plain::unlock::<L>,
            destroy: general::destroy::<L>,
            is_ours: general::is_ours::<L>,
            made: |_| (),
            replaces: true,
        }
    }

    /// The operations of the C library.
    pub const LEFT: Ops = Ops {
        lock: real::pthread_mutex_lock,
        try_lock: real::pthread_mutex_trylock,
        lock_until: real::pthread_mutex_clocklock,
        unlock: real::pthread_mutex_unlock,
        destroy: real::pthread_mutex_destroy,
        is_ours: never,
        made: |_| (),
        replaces: false,
    };
}

unsafe fn never(_: *const Mutex) -> c_int {
    0
}
