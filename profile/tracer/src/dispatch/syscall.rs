//! The interposed `syscall`. A program may use it to forbid itself what tracing needs
//! ([`crate::sandbox`]).
//!
//! It is not among the other interposed functions, because in a traced section the C library's own
//! function is translated in its place.

use core::arch::naked_asm;
use core::ffi::{c_long, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use syncline_interpose::Symbol;

use crate::sandbox::forbids;
use crate::section::{Caller, leaving_alone};

/// The function to which [`syscall`] jumps; null until it has been looked up.
static BEHIND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The address of the C library's `syscall`.
pub fn behind() -> u64 {
    static SYMBOL: Symbol = Symbol::new(c"syscall", None);
    let found = SYMBOL.get();
    // Relaxed: all threads find the same address.
    BEHIND.store(found, Relaxed);
    found as u64
}

/// Looks up the C library's function, and leaves the program alone if this call of [`syscall`]
/// forbids what tracing needs.
unsafe extern "C" fn notice(number: u64, a: u64, b: u64, c: u64, caller: Caller) {
    behind();
    if let Some(why) = forbids(number, a, b, c) {
        // SAFETY: the entry passes its stack pointer.
        unsafe { leaving_alone(caller, why) };
    }
}

/// Passes the arguments to the C library's function as they are, including the last one, which is
/// on the stack. Only two system call numbers are checked, because programs that wait on futexes
/// call this often.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall(number: c_long) -> c_long {
    naked_asm!(
        "cmp rdi, {prctl}",
        "je 2f",
        "cmp rdi, {seccomp}",
        "je 2f",
        "mov rax, qword ptr [rip + {behind}]",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "lea r8, [rsp + 48]",
        "sub rsp, 8",
        "call {notice}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "mov rax, qword ptr [rip + {behind}]",
        "jmp rax",
        prctl = const libc::SYS_prctl,
        seccomp = const libc::SYS_seccomp,
        behind = sym BEHIND,
        notice = sym notice,
    )
}
