//! The start and the end of the process.

use core::ffi::{c_char, c_int};

use std::{mem, panic};

use syncline_interpose::{Symbol, entry, fail, real};

use crate::recorder::create;
use crate::thread::attach;
use crate::{clock, live, options, recorder};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn _Exit(status: c_int) -> !;
            fn quick_exit(status: c_int) -> !;
        }
    };
}

functions!(entry);
entry! { fn _exit(status: c_int) -> !; }

/// The function by which most forked children end. It is looked up before there are children:
/// otherwise each would look it up again.
static EXIT: Symbol = Symbol::new(c"_exit", None);

#[allow(non_snake_case, reason = "the names of the functions")]
mod real {
    use super::*;
    functions!(real);
}

#[allow(non_snake_case, reason = "the names of the functions")]
mod imp {
    use super::*;
    use crate::count::Caller;

    pub unsafe extern "C-unwind" fn _exit(status: c_int, _: Caller) -> ! {
        recorder::process_ends();
        // SAFETY: the symbol of this name has this type; the program's own call.
        unsafe {
            let real: unsafe extern "C-unwind" fn(c_int) -> ! = mem::transmute(EXIT.get());
            real(status)
        }
    }

    pub unsafe extern "C-unwind" fn _Exit(status: c_int, _: Caller) -> ! {
        recorder::process_ends();
        // SAFETY: the program's own call.
        unsafe { real::_Exit(status) }
    }

    pub unsafe extern "C-unwind" fn quick_exit(status: c_int, _: Caller) -> ! {
        recorder::process_ends();
        // SAFETY: the program's own call.
        unsafe { real::quick_exit(status) }
    }
}

/// Runs when the program starts; operations may have been called before.
extern "C" fn starts(count: c_int, arguments: *const *const c_char) {
    // SAFETY: the C library calls constructors with the arguments of `main`.
    unsafe { create::remember_arguments(count as usize, arguments) };
    panic::set_hook(Box::new(on_panic));
    if options::get().is_some() {
        // Makes the thread-specific key early, so that it is one of the first.
        attach::prepare();
        EXIT.get();
        live::is_preloaded();
    }
    clock::process_starts();
}

/// Ends the program at once after a panic of this library. A panic that went on would run the
/// standard library's printing, which allocates and calls the loader, and would unwind the
/// program's functions.
fn on_panic(panic: &panic::PanicHookInfo) {
    let place = panic.location().map_or("", |location| location.file());
    fail(&[b"internal error in ", place.as_bytes()]);
}

/// Runs when the program has returned from `main` or called `exit`.
extern "C" fn ends() {
    recorder::process_ends();
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn(c_int, *const *const c_char) = starts;

#[used]
#[unsafe(link_section = ".fini_array")]
static ENDS: extern "C" fn() = ends;
