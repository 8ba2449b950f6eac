//! `wait` and similar functions, which report the ends of children to their parent.
//!
//! A process that is killed, or ends by a system call instruction of its own, can't note that in
//! its file. The kernel reports such an end only to the parent.

use core::ffi::c_int;

use libc::{id_t, idtype_t, pid_t, rusage, siginfo_t};
use syncline_interpose::{entry, preserving_errno, real};

macro_rules! functions {
    ($list:ident) => {
        $list! {
            fn wait(status: *mut c_int) -> pid_t;
            fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t;
            fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
            fn wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
            fn waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int;
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
    use crate::count::Caller;
    use crate::recorder::children;

    /// Notes what the kernel reported about a child, without changing the program's `errno`.
    fn ended(pid: pid_t, status: c_int) {
        preserving_errno(|| children::ended(pid as u32, status as u32));
    }

    /// Waits with a status word that can be read afterwards, even if the program did not ask for
    /// the status.
    unsafe fn noting(status: *mut c_int, wait: impl FnOnce(*mut c_int) -> pid_t) -> pid_t {
        let mut own = 0;
        let status = if status.is_null() { &raw mut own } else { status };
        let pid = wait(status);
        if pid > 0 {
            // SAFETY: the word is the caller's, or ours, and the kernel has written it.
            let status = unsafe { *status };
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                ended(pid, status);
            }
        }
        pid
    }

    pub unsafe extern "C-unwind" fn wait(status: *mut c_int, _: Caller) -> pid_t {
        // SAFETY: the program's own call.
        unsafe { noting(status, |status| real::wait(status)) }
    }

    pub unsafe extern "C-unwind" fn waitpid(
        pid: pid_t,
        status: *mut c_int,
        options: c_int,
        _: Caller,
    ) -> pid_t {
        // SAFETY: the program's own call.
        unsafe { noting(status, |status| real::waitpid(pid, status, options)) }
    }

    pub unsafe extern "C-unwind" fn wait3(
        status: *mut c_int,
        options: c_int,
        usage: *mut rusage,
        _: Caller,
    ) -> pid_t {
        // SAFETY: the program's own call.
        unsafe { noting(status, |status| real::wait3(status, options, usage)) }
    }

    pub unsafe extern "C-unwind" fn wait4(
        pid: pid_t,
        status: *mut c_int,
        options: c_int,
        usage: *mut rusage,
        _: Caller,
    ) -> pid_t {
        // SAFETY: the program's own call.
        unsafe { noting(status, |status| real::wait4(pid, status, options, usage)) }
    }

    pub unsafe extern "C-unwind" fn waitid(
        kind: idtype_t,
        id: id_t,
        info: *mut siginfo_t,
        options: c_int,
        _: Caller,
    ) -> c_int {
        // SAFETY: a value of zeros is valid.
        let mut own: siginfo_t = unsafe { core::mem::zeroed() };
        let info = if info.is_null() { &raw mut own } else { info };
        // SAFETY: the program's own call; the kernel writes to the memory that it is given.
        unsafe {
            let result = real::waitid(kind, id, info, options);
            // If no child has ended, `si_pid` is 0.
            if result == 0 && (*info).si_pid() > 0 {
                let (pid, told) = ((*info).si_pid(), (*info).si_status());
                match (*info).si_code {
                    libc::CLD_EXITED => ended(pid, told << 8),
                    libc::CLD_KILLED | libc::CLD_DUMPED => ended(pid, told),
                    _ => {}
                }
            }
            result
        }
    }
}
