//! Thread-specific data: a key that one rank's thread makes serves the threads of all ranks.
//!
//! All ranks know which keys there are, and their destructors. A thread's values are its own. Keys
//! that the C library has made itself, before `main` or for its own code, have small numbers.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

use libc::{EAGAIN, EINVAL, pthread_key_t};
use syncline_interpose::real;

use crate::gate::{in_program, ours};
use crate::records;
use crate::words::Word;

type Destructor = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

/// The number of keys, which POSIX calls `PTHREAD_KEYS_MAX`.
pub const KEYS: usize = 1024;
/// The first key of this library: larger than all of the C library's.
const FIRST: pthread_key_t = 1 << 20;
/// A thread's destructors run at most so often.
pub const ROUNDS: usize = 4;

/// Bytes of all keys in rank 0's words.
pub const BYTES: usize = KEYS * size_of::<u64>();

/// The value of a key's word: free, without a destructor, or the destructor's address.
const FREE: u64 = 0;
const PLAIN: u64 = 1;

thread_local! {
    static VALUES: [Cell<usize>; KEYS] = const { [const { Cell::new(0) }; KEYS] };
}

mod own {
    use super::*;

    real! {
        fn pthread_key_create(key: *mut pthread_key_t, destructor: Destructor) -> c_int;
        fn pthread_key_delete(key: pthread_key_t) -> c_int;
        fn pthread_getspecific(key: pthread_key_t) -> *mut c_void;
        fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int;
    }
}

/// The number of a key of this library.
fn number(key: pthread_key_t) -> Option<usize> {
    let number = key.checked_sub(FIRST)? as usize;
    (number < KEYS).then_some(number)
}

fn word(number: usize) -> Word {
    Word::of(0, records::BYTES + number * size_of::<u64>())
}

/// Calls the destructors of the calling thread's values, as the program's code.
pub fn destroy() {
    for _ in 0..ROUNDS {
        let mut any = false;
        for number in 0..KEYS {
            let value = VALUES.with(|values| values[number].replace(0));
            if value == 0 {
                continue;
            }
            let destructor = ours(|| word(number).load()) as usize;
            if destructor as u64 > PLAIN {
                any = true;
                // SAFETY: the program has given it for this key's values.
                unsafe {
                    let destructor: unsafe extern "C-unwind" fn(*mut c_void) =
                        std::mem::transmute(destructor);
                    destructor(without_provenance_mut(value));
                }
            }
        }
        if !any {
            return;
        }
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Destructor,
) -> c_int {
    if !in_program() {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_key_create(key, destructor) };
    }
    let value = destructor.map_or(PLAIN, |destructor| destructor as usize as u64);
    let free = |number: &usize| word(*number).exchange(FREE, value);
    let Some(number) = ours(|| (0..KEYS).find(free)) else { return EAGAIN };
    // SAFETY: the caller's own call.
    unsafe { *key = FIRST + number as pthread_key_t };
    0
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    match number(key) {
        // SAFETY: the caller's own call.
        None => unsafe { own::pthread_key_delete(key) },
        Some(number) if ours(|| word(number).swap(FREE)) == FREE => EINVAL,
        Some(_) => 0,
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    match number(key) {
        // SAFETY: the caller's own call.
        None => unsafe { own::pthread_getspecific(key) },
        Some(number) => without_provenance_mut(VALUES.with(|values| values[number].get())),
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setspecific(
    key: pthread_key_t,
    value: *const c_void,
) -> c_int {
    let Some(number) = number(key) else {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_setspecific(key, value) };
    };
    VALUES.with(|values| values[number].set(value.addr()));
    0
}

/// C's keys are POSIX' ones.
mod c11 {
    use super::*;

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn tss_create(
        key: *mut pthread_key_t,
        destructor: Destructor,
    ) -> c_int {
        // SAFETY: the caller's own call.
        if unsafe { pthread_key_create(key, destructor) } == 0 { 0 } else { 2 }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn tss_delete(key: pthread_key_t) {
        // SAFETY: the caller's own call.
        unsafe { pthread_key_delete(key) };
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn tss_get(key: pthread_key_t) -> *mut c_void {
        // SAFETY: the caller's own call.
        unsafe { pthread_getspecific(key) }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn tss_set(key: pthread_key_t, value: *mut c_void) -> c_int {
        // SAFETY: the caller's own call.
        if unsafe { pthread_setspecific(key, value) } == 0 { 0 } else { 2 }
    }
}
