//! The behaviour that POSIX requires of a mutex, over a lock `L` of the catalogue.
//!
//! A normal mutex is just the lock. A recursive or error-checking one notes its owner while it is
//! held; a thread always finds out correctly whether it is the owner itself. Unlocking a normal
//! mutex that no thread holds has no effect; programs that do it happen to work with the C library
//! too. [`plain`](super::plain) has the fast path for normal mutexes, and calls this module in all
//! other cases.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{Relaxed, Release};

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use syncline::lock::TryLock;

use super::layout::{Kind, Mutex};
use super::real;
use super::until::{NEVER, Until, poll};
use crate::memory::Own;
use crate::slot::{Large, Slot};
use crate::tls::this_thread;
use crate::{deadline, generation, report};

static LARGE: Large = Large::new();

/// The lock of a mutex of this kind; `None` if the mutex is not replaced.
#[inline(always)]
fn lock_of<L: TryLock>(mutex: &Mutex, kind: Kind) -> Option<&L> {
    if kind == Kind::Left { None } else { mutex.room.get(&LARGE) }
}

/// Acquires the mutex with `attempt`, which returns 0 or an error. An owner that may not acquire it
/// again gets the error `again`. `left` acquires a mutex that is not replaced.
///
/// # Safety
///
/// Same requirements as POSIX' functions. If `attempt` returns 0, it has acquired the lock with the
/// node that it got.
#[inline(always)]
unsafe fn enter<L: TryLock<Memory = Own>>(
    mutex: *const Mutex,
    again: c_int,
    left: impl FnOnce() -> c_int,
    attempt: impl FnOnce(&L, &L::Node) -> c_int,
) -> c_int {
    // SAFETY: our caller's promise.
    let shown = unsafe { &*mutex };
    let kind = shown.kind();
    let Some(lock) = lock_of::<L>(shown, kind) else {
        report::left_to_libc(kind == Kind::Left);
        return left();
    };
    if kind != Kind::Normal
        && let Some(result) = enter_again(shown, kind, again)
    {
        return result;
    }
    let node = Slot::<2>::node::<L>();
    let result = attempt(lock, node);
    if result == 0 {
        shown.room.hold::<L>(node);
        // Relaxed, also below: only holders write these words, and a thread finds its own number in
        // `owner` only if it is the owner.
        shown.generation.store(generation::now(), Relaxed);
        if kind != Kind::Normal {
            shown.owner.store(this_thread(), Relaxed);
        }
    } else {
        // SAFETY: the lock was not acquired with this node.
        unsafe { Slot::<2>::done::<L>(node) };
    }
    result
}

/// The result for a thread that is the owner; `None` for other threads.
fn enter_again(mutex: &Mutex, kind: Kind, again: c_int) -> Option<c_int> {
    if !is_owner(mutex) {
        return None;
    }
    if kind == Kind::Checking {
        return Some(again);
    }
    let depth = mutex.depth.load(Relaxed);
    let Some(deeper) = depth.checked_add(1) else { return Some(EAGAIN) };
    mutex.depth.store(deeper, Relaxed);
    Some(0)
}

/// Whether the mutex has been held since before a fork, so that its queue belongs to threads of
/// another process.
#[inline(always)]
unsafe fn is_stranded(mutex: *const Mutex) -> bool {
    // SAFETY: our caller's promise.
    generation::is_past(unsafe { &(*mutex).generation })
}

fn is_owner(mutex: &Mutex) -> bool {
    mutex.owner.load(Relaxed) == this_thread()
}

#[cold]
pub unsafe fn lock<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise; `enter` gives a node that stays.
    unsafe {
        let left = || real::pthread_mutex_lock(mutex);
        enter::<L>(mutex, EDEADLK, left, |lock, node| {
            if is_stranded(mutex) {
                poll(NEVER, || !is_stranded(mutex));
            }
            lock.acquire(node);
            0
        })
    }
}

pub unsafe fn try_lock<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise; `enter` gives a node that stays.
    unsafe {
        let left = || real::pthread_mutex_trylock(mutex);
        enter::<L>(mutex, EBUSY, left, |lock, node| {
            if !is_stranded(mutex) && lock.try_acquire(node) { 0 } else { EBUSY }
        })
    }
}

pub unsafe fn lock_until<L: TryLock<Memory = Own>, U: Until<L>>(
    mutex: *const Mutex,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: our caller's promise; `enter` gives a node that stays.
    unsafe {
        if (*mutex).kind() != Kind::Left && !deadline::is_known(clock) {
            return EINVAL;
        }
        let left = || real::pthread_mutex_clocklock(mutex, clock, time);
        enter::<L>(mutex, EDEADLK, left, |lock, node| {
            // A free lock is acquired even if the deadline has passed.
            if !is_stranded(mutex) && lock.try_acquire(node) {
                return 0;
            }
            // Like in the C library, this is checked before the nanoseconds, but only for mutexes.
            if deadline::is_before_1970(time) {
                return ETIMEDOUT;
            }
            if !deadline::is_valid(time) {
                return EINVAL;
            }
            let deadline = deadline::read(clock, time);
            let free = !is_stranded(mutex) || poll(deadline, || !is_stranded(mutex));
            if free && U::acquire(lock, node, deadline) { 0 } else { ETIMEDOUT }
        })
    }
}

#[cold]
pub unsafe fn unlock<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    let shown = unsafe { &*mutex };
    let kind = shown.kind();
    let Some(lock) = lock_of::<L>(shown, kind) else {
        // SAFETY: our caller's promise.
        return unsafe { real::pthread_mutex_unlock(mutex) };
    };
    if kind != Kind::Normal {
        if !is_owner(shown) {
            return EPERM;
        }
        let depth = shown.depth.load(Relaxed);
        if depth != 0 {
            shown.depth.store(depth - 1, Relaxed);
            return 0;
        }
        shown.owner.store(0, Relaxed);
    }
    let acquired = shown.generation.load(Relaxed);
    if acquired != generation::now() {
        return unlock_strange::<L>(shown, acquired);
    }
    shown.generation.store(0, Relaxed);
    let node = shown.room.held::<L>();
    // SAFETY: the lock is held, and was acquired with this node. The mutex may be gone afterwards.
    unsafe {
        lock.release(node);
        Slot::<2>::done::<L>(node);
    }
    0
}

/// Unlocks a mutex that no thread holds, or that was held before a fork.
#[cold]
fn unlock_strange<L: TryLock<Memory = Own>>(mutex: &Mutex, acquired: u32) -> c_int {
    if acquired == 0 {
        return 0;
    }
    // SAFETY: of the threads that existed when the lock was acquired, only this one is left, and
    // threads that were created since then only read the generation.
    unsafe { mutex.room.forget::<L>() };
    // Release pairs with the Acquire in `is_past`: the next thread finds a fresh lock.
    mutex.generation.store(0, Release);
    0
}

pub unsafe fn destroy<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    unsafe {
        let shown = &*mutex;
        if lock_of::<L>(shown, shown.kind()).is_some() {
            if shown.generation.load(Relaxed) != 0 {
                return EBUSY;
            }
            shown.room.clear::<L>(&LARGE);
        }
        // The C library's function marks the mutex as unusable.
        real::pthread_mutex_destroy(mutex)
    }
}

pub unsafe fn is_ours<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    let shown = unsafe { &*mutex };
    lock_of::<L>(shown, shown.kind()).is_some().into()
}
