//! The fields of a mutex of the C library, and their use in a replaced mutex.
//!
//! ```text
//!   bytes   the C library's            a replaced one's
//!    0- 3   whether it is locked       the generation of the process that holds it, or 0
//!    4- 7   depth of a recursive one   the same
//!    8-11   the owner, by the kernel's number     by ours, if the kind has to know
//!   12-15   how many use it            0
//!   16-19   the kind                   the same
//!   20-21   its spinning               0
//!   22-23   elision, which is gone     the number of its lock, under a policy
//!   24-39   its list of robust ones    the lock
//! ```
//!
//! The position of the kind is part of the ABI, since static initialisers are compiled into
//! programs.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU16, AtomicU32, Ordering::Relaxed};

use crate::slot::Slot;

/// The C library's `pthread_mutex_t`.
#[repr(C)]
pub struct Mutex {
    /// The generation of the process in which it was acquired; 0 if no thread holds it.
    pub generation: AtomicU32,
    /// How often the owner of a recursive mutex has locked it, beyond the first time.
    pub depth: AtomicU32,
    /// The owner of a recursive or error-checking mutex.
    pub owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicI32,
    spinning: AtomicU16,
    /// The number of its lock under a policy; 0 if it has none yet.
    pub choice: AtomicU16,
    /// The lock.
    pub room: Slot<2>,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());

/// The kind of a mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The mutex doesn't know its owner.
    Normal,
    /// The owner may lock again.
    Recursive,
    /// An owner that locks again gets an error.
    Checking,
    /// The mutex is left to the C library: it is robust, has a priority protocol, is shared between
    /// processes, or was destroyed.
    Left,
}

/// Flags of lock elision, which no longer exists; they don't matter for a replaced lock.
const IGNORED: c_int = 0x300;

impl Kind {
    /// The kind for the C library's number.
    #[inline(always)]
    pub fn of(raw: c_int) -> Kind {
        match raw & !IGNORED {
            // An adaptive mutex is a normal one whose waiters spin before they sleep.
            libc::PTHREAD_MUTEX_NORMAL | libc::PTHREAD_MUTEX_ADAPTIVE_NP => Kind::Normal,
            libc::PTHREAD_MUTEX_RECURSIVE => Kind::Recursive,
            libc::PTHREAD_MUTEX_ERRORCHECK => Kind::Checking,
            _ => Kind::Left,
        }
    }
}

impl Mutex {
    /// The kind as the C library notes it.
    #[inline(always)]
    pub fn raw_kind(&self) -> c_int {
        // Relaxed: it changes only when no thread uses the mutex.
        self.kind.load(Relaxed)
    }

    /// The kind of this mutex.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        Kind::of(self.raw_kind())
    }
}
