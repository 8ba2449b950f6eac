//! Mutexes and spinlocks.
//!
//! A mutex has the three states of Drepper's ("Futexes Are Tricky", mutex 2): free, held, and held
//! with threads that may wait. A rank that was the last to hold it has seen all that was done under
//! it, so it needs no acquire.

use std::ffi::c_int;

use libc::{
    EBUSY, EDEADLK, EPERM, ETIMEDOUT, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec,
};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::fail::refuse;
use crate::fence;
use crate::gate::{ours, shares};
use crate::objects::{Kind, Object};
use crate::threads;
use crate::words::rank;

const FREE: u64 = 0;
const HELD: u64 = 1;
const AWAITED: u64 = 2;

/// The object's words.
const STATE: usize = 0;
const OWNER: usize = 1;
/// How often the owner has acquired it beyond the first time.
const DEPTH: usize = 2;
/// The rank that released it last, plus 1.
const LAST: usize = 3;

/// How a mutex treats its owner's second acquisition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Normal,
    Recursive,
    Checked,
}

/// The kind of glibc's `pthread_mutex_t`: its low bits are the type.
const KIND: usize = 4;
const PROCESS_SHARED: c_int = 128;

fn kind(mutex: *const pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex; its fifth word is the kind.
    unsafe { mutex.cast::<c_int>().add(KIND).read() }
}

fn type_of(mutex: *const pthread_mutex_t) -> Type {
    match kind(mutex) & 3 {
        1 => Type::Recursive,
        2 => Type::Checked,
        _ => Type::Normal,
    }
}

/// Acquires a mutex; `Err(ETIMEDOUT)` if the deadline passes.
pub fn lock(mutex: *const pthread_mutex_t, deadline: Option<Deadline>) -> Result<(), c_int> {
    let object = Object::at(mutex, Kind::Mutex);
    let (me, kind) = (threads::me(), type_of(mutex));
    if kind != Type::Normal && object.word(OWNER).load() == me {
        return again(object, kind);
    }
    if !acquire(object, deadline) {
        return Err(ETIMEDOUT);
    }
    object.word(OWNER).store(me);
    Ok(())
}

fn try_lock(mutex: *const pthread_mutex_t) -> Result<(), c_int> {
    let object = Object::at(mutex, Kind::Mutex);
    let (me, kind) = (threads::me(), type_of(mutex));
    if kind == Type::Recursive && object.word(OWNER).load() == me {
        return again(object, kind);
    }
    if !try_acquire(object) {
        return Err(EBUSY);
    }
    object.word(OWNER).store(me);
    Ok(())
}

/// The owner acquires the mutex once more.
fn again(object: Object, kind: Type) -> Result<(), c_int> {
    if kind == Type::Checked {
        return Err(EDEADLK);
    }
    object.word(DEPTH).add(1);
    Ok(())
}

/// Acquires an object of this kind; false if the deadline passes.
fn acquire(object: Object, deadline: Option<Deadline>) -> bool {
    let state = object.word(STATE);
    if !state.exchange(FREE, HELD) {
        while state.swap(AWAITED) != FREE {
            if !state.wait_while(AWAITED, deadline) {
                return false;
            }
        }
    }
    see(object);
    true
}

fn try_acquire(object: Object) -> bool {
    let free = object.word(STATE).exchange(FREE, HELD);
    if free {
        see(object);
    }
    free
}

/// Makes visible what was done under an object that this thread holds.
fn see(object: Object) {
    if object.word(LAST).load() != rank() as u64 + 1 {
        fence::acquire();
    }
}

fn release(object: Object) {
    fence::release();
    object.word(LAST).store(rank() as u64 + 1);
    if object.word(STATE).swap(FREE) == AWAITED {
        object.word(STATE).wake(1);
    }
}

/// Releases a mutex.
pub fn unlock(mutex: *const pthread_mutex_t) -> Result<(), c_int> {
    let object = Object::at(mutex, Kind::Mutex);
    let kind = type_of(mutex);
    if kind != Type::Normal && object.word(OWNER).load() != threads::me() {
        return Err(EPERM);
    }
    if object.word(DEPTH).load() > 0 {
        object.word(DEPTH).add(u64::MAX);
        return Ok(());
    }
    object.word(OWNER).store(0);
    release(object);
    Ok(())
}

/// The status that POSIX' functions return.
pub fn status(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(0)
}

mod own {
    use super::*;

    real! {
        fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t) -> c_int;
        fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
        fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, at: *const timespec) -> c_int;
        fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec) -> c_int;
        fn pthread_spin_init(lock: *mut c_int, shared: c_int) -> c_int;
        fn pthread_spin_destroy(lock: *mut c_int) -> c_int;
        fn pthread_spin_lock(lock: *mut c_int) -> c_int;
        fn pthread_spin_trylock(lock: *mut c_int) -> c_int;
        fn pthread_spin_unlock(lock: *mut c_int) -> c_int;
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: the caller's own call.
    let status = unsafe { own::pthread_mutex_init(mutex, attributes) };
    if shares(mutex) && status == 0 {
        if kind(mutex) & PROCESS_SHARED != 0 {
            refuse("pthread_mutex_init for several processes");
        }
        ours(|| Object::new(mutex, Kind::Mutex));
    }
    status
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    if shares(mutex) {
        return ours(|| match Object::at(mutex, Kind::Mutex).word(STATE).load() {
            FREE => 0,
            _ => EBUSY,
        });
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_mutex_destroy(mutex) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    if shares(mutex) {
        return ours(|| status(lock(mutex, None)));
    }
    // SAFETY: the caller's own call.
    unsafe { syncline_interpose::pthread_mutex_lock(mutex.cast()) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    if shares(mutex) {
        return ours(|| status(try_lock(mutex)));
    }
    // SAFETY: the caller's own call.
    unsafe { syncline_interpose::pthread_mutex_trylock(mutex.cast()) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    if !shares(mutex) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_mutex_timedlock(mutex, at) };
    }
    // SAFETY: the caller's own call.
    unsafe { pthread_mutex_clocklock(mutex, libc::CLOCK_REALTIME, at) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    if !shares(mutex) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_mutex_clocklock(mutex, clock, at) };
    }
    // SAFETY: the caller's own call.
    ours(|| match unsafe { Deadline::of(clock, at) } {
        Ok(deadline) => status(lock(mutex, Some(deadline))),
        Err(error) => error,
    })
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    if shares(mutex) {
        return ours(|| status(unlock(mutex)));
    }
    // SAFETY: the caller's own call.
    unsafe { syncline_interpose::pthread_mutex_unlock(mutex.cast()) }
}

/// A spinlock uses the same words. Its waiters sleep: the holder may be on another machine.
fn spin(lock: *const c_int) -> Object {
    Object::at(lock, Kind::Mutex)
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_init(lock: *mut c_int, shared: c_int) -> c_int {
    // SAFETY: the caller's own call.
    let status = unsafe { own::pthread_spin_init(lock, shared) };
    if shares(lock) {
        ours(|| Object::new(lock, Kind::Mutex));
    }
    status
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_destroy(lock: *mut c_int) -> c_int {
    // SAFETY: the caller's own call.
    unsafe { own::pthread_spin_destroy(lock) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut c_int) -> c_int {
    if !shares(lock) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_spin_lock(lock) };
    }
    ours(|| acquire(spin(lock), None));
    0
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_trylock(lock: *mut c_int) -> c_int {
    if !shares(lock) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_spin_trylock(lock) };
    }
    ours(|| if try_acquire(spin(lock)) { 0 } else { EBUSY })
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_unlock(lock: *mut c_int) -> c_int {
    if !shares(lock) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_spin_unlock(lock) };
    }
    ours(|| release(spin(lock)));
    0
}
