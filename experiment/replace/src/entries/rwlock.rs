//! `pthread_rwlock_*`.

use core::ffi::{c_int, c_void};

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use crate::choice::RWLOCKS;
use crate::report;
use crate::rwlock::{Rwlock, real};

macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),*) = $call:ident($($passed:expr),*);)*) => {
        $(
            /// # Safety
            /// Same requirements as POSIX' function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name(lock: *const Rwlock $(, $argument: $type)*) -> c_int {
                // SAFETY: the program's own call.
                unsafe { (RWLOCKS.get().suited_to(&*lock).$call)(lock $(, $passed)*) }
            }
        )*
    };
}

entries! {
    pthread_rwlock_rdlock() = share();
    pthread_rwlock_tryrdlock() = try_share();
    pthread_rwlock_timedrdlock(until: *const timespec) = share_until(CLOCK_REALTIME, until);
    pthread_rwlock_clockrdlock(clock: clockid_t, until: *const timespec) = share_until(clock, until);
    pthread_rwlock_wrlock() = lock();
    pthread_rwlock_trywrlock() = try_lock();
    pthread_rwlock_timedwrlock(until: *const timespec) = lock_until(CLOCK_REALTIME, until);
    pthread_rwlock_clockwrlock(clock: clockid_t, until: *const timespec) = lock_until(clock, until);
    pthread_rwlock_unlock() = unlock();
    pthread_rwlock_destroy() = destroy();
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_init(
    lock: *const Rwlock,
    attributes: *const c_void,
) -> c_int {
    // SAFETY: the program's own call. The C library's function sets the kind and whether processes
    // share the lock, and leaves all other fields zero; zeros are a free lock.
    unsafe {
        let result = real::pthread_rwlock_init(lock, attributes);
        if result == 0 {
            (RWLOCKS.get().made)(lock);
            report::rwlock_made((*lock).is_shared(), RWLOCKS.get().replaces);
        }
        result
    }
}
