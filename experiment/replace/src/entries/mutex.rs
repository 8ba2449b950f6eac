//! `pthread_mutex_*`.

use core::ffi::{c_int, c_void};

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use crate::choice::MUTEXES;
use crate::mutex::{Kind, Mutex, real};
use crate::report;

// SAFETY, of all blocks in these functions: the program's own call, with a valid mutex.

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().lock)(mutex) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().try_lock)(mutex) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *const Mutex,
    until: *const timespec,
) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().lock_until)(mutex, CLOCK_REALTIME, until) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *const Mutex,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().lock_until)(mutex, clock, until) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().unlock)(mutex) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_init(
    mutex: *const Mutex,
    attributes: *const c_void,
) -> c_int {
    // SAFETY: see above. The C library's function sets the kind and leaves all other fields zero;
    // zeros are a free lock. It sets more for a mutex with a priority ceiling, but such a mutex is
    // left to the C library.
    unsafe {
        let result = real::pthread_mutex_init(mutex, attributes);
        if result == 0 {
            (MUTEXES.get().made)(mutex);
            let (kind, raw) = ((*mutex).kind(), (*mutex).raw_kind());
            match kind {
                Kind::Left => report::mutex_left(raw),
                _ => report::mutex_made(MUTEXES.get().replaces),
            }
        }
        result
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (MUTEXES.get().destroy)(mutex) }
}
