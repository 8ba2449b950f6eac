//! Notices sandboxes. A program that forbids itself system calls (seccomp) or the time stamp
//! counter is left alone from then on, because tracing needs both, and the kernel kills a program
//! that does what it has forbidden itself.
//!
//! The library notices a request for a sandbox before the kernel gets it: in libc's `prctl` and
//! `syscall`, which are interposed, and in a traced section at the instruction `syscall`.
//!
//! The library does not see `syscall` instructions of the program's own code outside of traced
//! sections. So before the library makes system calls, it asks the kernel whether the thread is in
//! a sandbox by now. Asking is a system call too, but most sandboxes allow it or refuse it with an
//! error. If the kernel kills the program for asking, as in strict mode, the calls that follow
//! would have killed it too. In a process that has been in a sandbox since its start, as in a
//! container, the library does not ask, since the answer would always be yes.
//!
//! A sandbox that exists before the library is loaded was set up by a parent process. If the
//! command `syncline` was not in that sandbox, the program is left alone from the start
//! ([`is_inherited`]). To find that out, the library opens, reads and closes a file. The loader has
//! just made the same system calls to load this library, so they are allowed.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The reason that is given if a program is left alone because of seccomp.
pub const SYSTEM_CALLS: &str = "it forbids itself system calls (seccomp)";
const COUNTER: &str = "it forbids itself the time stamp counter";

/// If a system call with this number and these arguments sets up a sandbox, the reason to leave the
/// program alone; otherwise `None`. A call that passes no filter only asks whether seccomp exists,
/// so it sets up nothing.
pub fn forbids(number: u64, a: u64, b: u64, c: u64) -> Option<&'static str> {
    const PRCTL: u64 = libc::SYS_prctl as u64;
    const SECCOMP: u64 = libc::SYS_seccomp as u64;
    const PR_SET_SECCOMP: u64 = libc::PR_SET_SECCOMP as u64;
    const PR_SET_TSC: u64 = libc::PR_SET_TSC as u64;
    const STRICT: u64 = libc::SECCOMP_MODE_STRICT as u64;
    const FILTER: u64 = libc::SECCOMP_MODE_FILTER as u64;
    const SET_STRICT: u64 = libc::SECCOMP_SET_MODE_STRICT as u64;
    const SET_FILTER: u64 = libc::SECCOMP_SET_MODE_FILTER as u64;
    const FAULTS: u64 = libc::PR_TSC_SIGSEGV as u64;
    match (number, a, b) {
        (PRCTL, PR_SET_SECCOMP, STRICT) | (SECCOMP, SET_STRICT, _) => Some(SYSTEM_CALLS),
        (PRCTL, PR_SET_SECCOMP, FILTER) | (SECCOMP, SET_FILTER, _) => {
            (c != 0).then_some(SYSTEM_CALLS)
        }
        (PRCTL, PR_SET_TSC, FAULTS) => Some(COUNTER),
        _ => None,
    }
}

/// Whether this process began in a sandbox that the command `syncline` was not in. The command
/// passes in the environment under how many seccomp filters it ran itself.
pub fn is_inherited() -> bool {
    let Some(filters) = crate::options::number(c"SYNCLINE_FILTERS") else { return false };
    let status = crate::files::read(&mut "/proc/self/status\0".to_owned());
    let status = String::from_utf8_lossy(&status);
    // Linux reports the number of filters since version 5.9.
    let now = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    now.and_then(|now| now.trim().parse::<u64>().ok()).is_some_and(|now| now > filters)
}

/// Whether the process began without a sandbox.
static WAS_FREE: AtomicBool = AtomicBool::new(false);

/// Remembers whether the process is in a sandbox. Must be called when tracing of the process
/// begins.
pub fn begin() {
    // Relaxed is enough: a thread that does not see the store yet does not ask the kernel, which is
    // harmless.
    WAS_FREE.store(mode() == 0, Relaxed);
}

/// Whether this thread is in a sandbox that has not been noticed. Makes at most one system call.
pub fn is_unnoticed() -> bool {
    WAS_FREE.load(Relaxed) && mode() != 0
}

/// The thread's seccomp mode: 0 if it is in no sandbox; a negative error number if a sandbox
/// refuses the call, or if the kernel has no seccomp. `errno` stays as it is.
fn mode() -> i64 {
    let result;
    // SAFETY: the call reads and writes no memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_prctl => result,
            in("rdi") libc::PR_GET_SECCOMP, in("rsi") 0, in("rdx") 0, in("r10") 0, in("r8") 0,
            lateout("rcx") _, lateout("r11") _,
            options(nostack, nomem),
        );
    }
    result
}
