//! `__register_atfork`, which is interposed so that forks are counted before any of the program's
//! handlers runs.

use core::ffi::{c_int, c_void};

use crate::choice;
use crate::generation::{Handler, real};

/// The function that `pthread_atfork` calls. Handlers of the child run in the order in which they
/// were registered, and they may release locks. So our handler, which counts the fork, has to be
/// registered before those of any constructor.
///
/// # Safety
/// Same requirements as the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    library: *mut c_void,
) -> c_int {
    choice::choose();
    // SAFETY: the program's own call.
    unsafe { real::__register_atfork(prepare, parent, child, library) }
}
