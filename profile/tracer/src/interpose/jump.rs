//! `longjmp` and similar functions. Tracing ends before the jump.

use core::ffi::{c_int, c_void};

use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn longjmp(to: *mut c_void, value: c_int) -> !;
            fn _longjmp(to: *mut c_void, value: c_int) -> !;
            fn siglongjmp(to: *mut c_void, value: c_int) -> !;
            fn __longjmp_chk(to: *mut c_void, value: c_int) -> !;
        }
    };
}

functions!(entry);

mod real {
    use super::*;
    functions!(real);
}

mod imp {
    use super::*;
    use crate::section::{Caller, jumping};

    macro_rules! jumps {
        ($($name:ident)*) => {
            $(
                pub unsafe extern "C-unwind" fn $name(
                    to: *mut c_void,
                    value: c_int,
                    caller: Caller,
                ) -> ! {
                    // SAFETY: the program's own call.
                    unsafe {
                        jumping(caller);
                        real::$name(to, value)
                    }
                }
            )*
        };
    }

    jumps! { longjmp _longjmp siglongjmp __longjmp_chk }
}
