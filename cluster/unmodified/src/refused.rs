//! What can't work on ranks ends the program, with a message that names it.

use std::ffi::{c_char, c_int, c_void};

use crate::gate::{self, in_program};
use crate::output::say;
use syncline_dsm::program::REFUSED;

/// Ends the program, because it can't run on ranks.
pub fn cannot(why: &str) -> ! {
    say(&[b"the program can't run on ranks: ", why.as_bytes()]);
    end()
}

/// Ends the program, because it does something that can't work on ranks.
pub fn refuse(what: &str) -> ! {
    say(&[
        b"the program calls ",
        what.as_bytes(),
        b", which can't work on ranks (docs/dsm.md, What can't run)",
    ]);
    end()
}

fn end() -> ! {
    loop {
        // SAFETY: ends this process, with all its threads. The other ranks are ended by the command.
        unsafe { gate::direct(libc::SYS_exit_group, [REFUSED as usize, 0, 0, 0, 0, 0]) };
    }
}

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
