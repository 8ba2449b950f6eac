//! `prctl`, by which a program may forbid itself system calls. Tracing needs some (memory for what
//! it writes, the bounds of stacks), so such a program is left alone from there on.

use core::ffi::{c_int, c_ulong};

use syncline_interpose::{entry, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
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
    use crate::section::{Caller, enter, leaving_alone};

    pub unsafe extern "C-unwind" fn prctl(
        option: c_int,
        a: c_ulong,
        b: c_ulong,
        c: c_ulong,
        d: c_ulong,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call; it takes as many arguments as the option has.
        unsafe {
            if option == libc::PR_SET_SECCOMP {
                leaving_alone(caller, "it forbids itself system calls (seccomp)");
                return real::prctl(option, a, b, c, d);
            }
            let call = enter(caller);
            let result = real::prctl(option, a, b, c, d);
            call.leave(caller);
            result
        }
    }
}
