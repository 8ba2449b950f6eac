//! Functions about a thread, and C's names for threads.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

use libc::{clockid_t, pthread_attr_t, pthread_t};
use syncline_interpose::real;

use crate::condition::c11::outcome;
use crate::gate::Function;
use crate::joins::{pthread_detach, pthread_join};
use crate::threads::{me, of, pthread_create, pthread_exit, pthread_self};

mod own {
    use super::*;

    real! {
        fn pthread_self() -> pthread_t;
        fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
        fn pthread_getname_np(thread: pthread_t, name: *mut c_char, bytes: usize) -> c_int;
        fn pthread_setaffinity_np(thread: pthread_t, bytes: usize, set: *const libc::cpu_set_t) -> c_int;
        fn pthread_getaffinity_np(thread: pthread_t, bytes: usize, set: *mut libc::cpu_set_t) -> c_int;
        fn pthread_getattr_np(thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int;
        fn pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int;
        fn pthread_setschedparam(thread: pthread_t, policy: c_int, parameters: *const libc::sched_param) -> c_int;
        fn pthread_getschedparam(thread: pthread_t, policy: *mut c_int, parameters: *mut libc::sched_param) -> c_int;
    }
}

/// C's threads are POSIX' ones, but for the type of their results.
mod c11 {
    use super::*;

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_create(
        thread: *mut pthread_t,
        function: Function,
        argument: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's own call. The function returns its `int` in the low half of the
        // register of the pointer that it is called for.
        outcome(unsafe { pthread_create(thread, null(), function, argument) })
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
        let mut value = null_mut();
        // SAFETY: the caller's own call.
        unsafe {
            let status = pthread_join(thread, &raw mut value);
            if status == 0 && !result.is_null() {
                *result = value.addr() as c_int;
            }
            outcome(status)
        }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_detach(thread: pthread_t) -> c_int {
        // SAFETY: the caller's own call.
        outcome(unsafe { pthread_detach(thread) })
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_current() -> pthread_t {
        // SAFETY: always allowed.
        unsafe { pthread_self() }
    }

    /// # Safety
    /// Same requirements as C's function.
    #[unsafe(no_mangle)]
    pub unsafe extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
        // SAFETY: the caller's own call.
        unsafe { pthread_exit(without_provenance_mut(result as usize)) }
    }
}

/// `about! { fn NAME(thread, args); }` exports functions about a thread. They work for the calling
/// thread. Other threads may be on other ranks: for them, the call succeeds and does nothing.
macro_rules! about {
    ($(fn $name:ident($($arg:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            /// Same requirements as the C library's function of this name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name(thread: pthread_t, $($arg: $type),*) -> c_int {
                // SAFETY: the caller's own call.
                unsafe {
                    match of(thread) {
                        None => own::$name(thread, $($arg),*),
                        Some(other) if other.0 as u64 + 1 != me() => 0,
                        Some(_) => own::$name(own::pthread_self(), $($arg),*),
                    }
                }
            }
        )*
    };
}

about! {
    fn pthread_setname_np(name: *const c_char);
    fn pthread_getname_np(name: *mut c_char, bytes: usize);
    fn pthread_setaffinity_np(bytes: usize, set: *const libc::cpu_set_t);
    fn pthread_getaffinity_np(bytes: usize, set: *mut libc::cpu_set_t);
    fn pthread_getattr_np(attributes: *mut pthread_attr_t);
    fn pthread_getcpuclockid(clock: *mut clockid_t);
    fn pthread_setschedparam(policy: c_int, parameters: *const libc::sched_param);
    fn pthread_getschedparam(policy: *mut c_int, parameters: *mut libc::sched_param);
}
