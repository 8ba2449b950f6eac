//! Walks the calls that led here, with the compiler's own unwinder, which is in every process that
//! loads a Rust library. It may take the loader's lock, and may allocate.

use core::ffi::{c_int, c_void};

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(
        each: extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const END: c_int = 5;

/// Visits the frames of the calling thread, innermost first, including this library's own, until
/// `each` returns false. `each` gets the address at which a frame continues (a return address,
/// except for the first frame), and the frame's stack pointer after its callee has returned.
pub fn for_each_frame<F: FnMut(usize, usize) -> bool>(mut each: F) {
    // SAFETY: `one` gets the argument that it expects.
    unsafe { _Unwind_Backtrace(one::<F>, (&raw mut each).cast()) };
}

extern "C-unwind" fn one<F: FnMut(usize, usize) -> bool>(
    context: *mut c_void,
    each: *mut c_void,
) -> c_int {
    // SAFETY: `for_each_frame` passes both on, and has not returned yet.
    let (each, ip, cfa) =
        unsafe { (&mut *each.cast::<F>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    if each(ip, cfa) { GO_ON } else { END }
}
