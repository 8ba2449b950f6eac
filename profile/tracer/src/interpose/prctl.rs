//! `prctl`, with which a program may forbid itself system calls that tracing needs
//! ([`crate::sandbox`]).

use core::ffi::{c_int, c_ulong};

use syncline_interpose::{entry, real};

use crate::sandbox::forbids;
use crate::section::{Caller, enter, leaving_alone};

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

    pub unsafe extern "C-unwind" fn prctl(
        option: c_int,
        a: c_ulong,
        b: c_ulong,
        c: c_ulong,
        d: c_ulong,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call; the kernel reads as many arguments as the option has.
        unsafe {
            if let Some(why) = forbids(libc::SYS_prctl as u64, option as u64, a, b) {
                leaving_alone(caller, why);
                return real::prctl(option, a, b, c, d);
            }
            let call = enter(caller);
            let result = real::prctl(option, a, b, c, d);
            call.leave(caller);
            result
        }
    }
}
