//! Functions that can't work on ranks: a call ends the program.

use std::ffi::{c_char, c_int, c_void};

use crate::fail::refuse;
use crate::gate::in_program;

/// `refused! { fn NAME(args) -> type; }` exports functions that end the program if the program
/// calls them.
macro_rules! refused {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $ret:ty;)*) => {
        mod real {
            use super::*;
            syncline_interpose::real! { $(fn $name($($arg: $type),*) -> $ret;)* }
        }
        $(
            /// # Safety
            /// Same requirements as the C library's function of this name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
                if in_program() {
                    refuse(stringify!($name));
                }
                // SAFETY: the caller's own call.
                unsafe { real::$name($($arg),*) }
            }
        )*
    };
}

#[allow(non_snake_case, reason = "the C library's names")]
mod functions {
    use super::*;
    refused! {
        fn fork() -> c_int;
        fn _Fork() -> c_int;
        fn system(command: *const c_char) -> c_int;
        fn popen(command: *const c_char, kind: *const c_char) -> *mut libc::FILE;
        fn posix_spawn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const c_void, environment: *const c_void) -> c_int;
        fn posix_spawnp(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const c_void, environment: *const c_void) -> c_int;
        fn daemon(nochdir: c_int, noclose: c_int) -> c_int;
        fn pthread_cancel(thread: libc::pthread_t) -> c_int;
            fn sem_open(name: *const c_char, flags: c_int, mode: libc::mode_t, value: u32) -> *mut libc::sem_t;
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    }
}
