//! The functions for mutexes under a policy: each calls the function of the lock whose number the
//! mutex stores.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU16, Ordering::Relaxed};

use libc::{clockid_t, timespec};

use syncline::lock::TryLock;

use crate::memory::Own;
use crate::mutex::{Kind, Mutex, Ops, plain};
use crate::policy::{LEFT, MUTEX, Moment, NUMBERS, decide};
use crate::report;
use crate::table::Table;

/// The locks that replace mutexes, by number.
pub static MUTEXES: [Table<Ops>; NUMBERS] = [const { Table::new(&Ops::LEFT) }; NUMBERS];

/// The number of the first lock that replaces mutexes; 0 if there is none.
static FIRST: AtomicU16 = AtomicU16::new(0);

/// Sets the number of the first lock.
pub fn be_first(number: u16) {
    FIRST.store(number, Relaxed);
}

/// See [`FIRST`].
#[inline(always)]
pub fn first() -> u16 {
    // Relaxed: the number is set before the functions that read it are in effect.
    FIRST.load(Relaxed)
}

type Call = unsafe fn(*const Mutex) -> c_int;

/// Functions that lock and unlock mutexes with any lock of a policy, and are fastest for the first
/// one.
#[derive(Clone, Copy)]
pub struct IfFirst {
    lock: Call,
    unlock: Call,
}

impl IfFirst {
    /// The functions if this lock is the first.
    pub const fn of<L: TryLock<Memory = Own>>() -> IfFirst {
        IfFirst { lock: lock_if_first::<L>, unlock: unlock_if_first::<L> }
    }

    /// The functions if no lock replaces mutexes.
    pub const LEFT: IfFirst = IfFirst { lock, unlock };
}

impl Ops {
    /// The functions that read the mutex's number, with those for the first lock, whose number most
    /// mutexes have.
    pub const fn numbered(first: IfFirst) -> Ops {
        let IfFirst { lock, unlock } = first;
        Ops { lock, try_lock, lock_until, unlock, destroy, is_ours, made, replaces: true }
    }
}

// SAFETY, of all blocks here: our caller's promise.

/// The functions of a mutex that is about to be acquired.
#[inline(always)]
unsafe fn of(mutex: *const Mutex) -> &'static Ops {
    // SAFETY: see above.
    let mutex = unsafe { &*mutex };
    // Relaxed, like all accesses here: in a fresh object every lock is free, so the number orders
    // nothing.
    match mutex.choice.load(Relaxed) {
        0 => choose(mutex, Moment::Acquired),
        number => by(number),
    }
}

/// The functions of a mutex that is not about to be acquired; the C library's if it stores no
/// number.
#[inline(always)]
unsafe fn of_used(mutex: *const Mutex) -> &'static Ops {
    // SAFETY: see above.
    match unsafe { (*mutex).choice.load(Relaxed) } {
        0 => &Ops::LEFT,
        number => by(number),
    }
}

#[inline(always)]
fn by(number: u16) -> &'static Ops {
    MUTEXES[usize::from(number) % MUTEXES.len()].get()
}

/// Chooses a lock, unless another thread is first, and returns its functions. A mutex that can't be
/// replaced stores no number, since it may be in memory that processes share.
#[cold]
fn choose(mutex: &Mutex, moment: Moment) -> &'static Ops {
    if mutex.kind() == Kind::Left {
        if matches!(moment, Moment::Acquired) {
            report::left_to_libc(true);
        }
        return &Ops::LEFT;
    }
    let number = match decide(MUTEX, core::ptr::from_ref(mutex).addr(), moment) {
        0 => return &Ops::LEFT,
        number => number,
    };
    by(mutex
        .choice
        .compare_exchange(0, number, Relaxed, Relaxed)
        .map_or_else(|theirs| theirs, |_| number))
}

/// # Safety
/// Same requirements as POSIX' function.
unsafe fn lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above. Nearly all mutexes have a number, and the call of the chosen function is
    // then the last one.
    unsafe {
        match (*mutex).choice.load(Relaxed) {
            0 => first_lock(mutex),
            number => (by(number).lock)(mutex),
        }
    }
}

#[cold]
unsafe fn first_lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).lock)(mutex) }
}

unsafe fn try_lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).try_lock)(mutex) }
}

unsafe fn lock_until(mutex: *const Mutex, clock: clockid_t, time: *const timespec) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).lock_until)(mutex, clock, time) }
}

/// # Safety
/// Same requirements as POSIX' function.
unsafe fn unlock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of_used(mutex).unlock)(mutex) }
}

/// Acquires a mutex that may have any lock of a policy; `L` is the policy's first one. The first
/// lock, which is the only one if a single call site was tuned, is called without a second jump.
///
/// # Safety
///
/// Same requirements as POSIX' function.
unsafe fn lock_if_first<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    unsafe {
        if (*mutex).choice.load(Relaxed) == first() { plain::lock::<L>(mutex) } else { lock(mutex) }
    }
}

/// Releases a mutex, like [`lock_if_first`].
///
/// # Safety
///
/// Same requirements as POSIX' function.
unsafe fn unlock_if_first<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    unsafe {
        if (*mutex).choice.load(Relaxed) == first() {
            plain::unlock::<L>(mutex)
        } else {
            unlock(mutex)
        }
    }
}

unsafe fn destroy(mutex: *const Mutex) -> c_int {
    // SAFETY: see above. The number is cleared because the memory may become a mutex again by a
    // static initialiser, or by being zeroed.
    unsafe {
        let result = (of_used(mutex).destroy)(mutex);
        if result == 0 {
            (*mutex).choice.store(0, Relaxed);
        }
        result
    }
}

unsafe fn is_ours(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of_used(mutex).is_ours)(mutex) }
}

unsafe fn made(mutex: *const Mutex) {
    // SAFETY: see above.
    choose(unsafe { &*mutex }, Moment::Created);
}

const _: () = assert!(LEFT != 0);
