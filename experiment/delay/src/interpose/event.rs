//! Barriers and semaphores. When a call that waits for a semaphore returns, it counts as a wait
//! that has ended, whether or not the thread had to wait. A try of a semaphore counts like a try of
//! a lock.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

super::passed! {
    wait: fn pthread_barrier_wait(barrier: *mut c_void);
    wait: fn sem_wait(semaphore: *mut c_void);
    wait: fn sem_timedwait(semaphore: *mut c_void, until: *const timespec);
    wait: fn sem_clockwait(semaphore: *mut c_void, clock: clockid_t, until: *const timespec);
    attempt: fn sem_trywait(semaphore: *mut c_void);
}
