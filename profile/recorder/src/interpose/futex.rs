//! Futexes that are used through libc's `syscall`: the waits of Rust's standard library,
//! parking_lot, `std::atomic::wait`, GLib and others.
//!
//! Such a lock is acquired by inlined code; only threads that have to wait, or to wake others, come
//! here. So waits and wake-ups are counted, by the address of the futex word. For parking_lot this
//! is the word of the waiting thread's parker, not of the lock.
//!
//! `syscall` has seven arguments, one more than there are registers for, so it has an entry of its
//! own. All calls except futexes and `exit_group` are made right here, as the C library makes them.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long};

use syncline_recording::Op;

use crate::count::{Caller, Outcome, happened, wait_for_event, waking};
use crate::recorder;

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall() -> c_long {
    naked_asm!(
        "cmp rdi, {futex}",
        "je 2f",
        "cmp rdi, {exit_group}",
        "je 4f",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        // Failed: errno is the negated result.
        "3:",
        "mov rdi, rax",
        "jmp {failed}",
        // A futex: (uaddr, op, val, timeout, uaddr2, caller); val3 stays on the stack.
        "2:",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "mov r9, rsp",
        "jmp {imp}",
        // The process's end: (status).
        "4:",
        "mov rdi, rsi",
        "jmp {exits}",
        futex = const libc::SYS_futex,
        exit_group = const libc::SYS_exit_group,
        exits = sym exits,
        failed = sym failed,
        imp = sym imp,
    )
}

/// Notes that the process ends, and ends it.
unsafe extern "C-unwind" fn exits(status: c_int) -> ! {
    recorder::process_ends();
    // SAFETY: the program's own call, which does not return.
    unsafe {
        core::arch::asm!(
            "syscall",
            in("rax") libc::SYS_exit_group,
            in("rdi") status,
            options(noreturn),
        );
    }
}

/// Sets `errno` to a negated result.
unsafe extern "C-unwind" fn failed(result: c_long) -> c_long {
    // SAFETY: errno is always there.
    unsafe { *libc::__errno_location() = -result as c_int };
    -1
}

unsafe extern "C-unwind" fn imp(
    word: usize,
    operation: c_int,
    value: c_int,
    timeout: usize,
    word2: usize,
    caller: Caller,
) -> c_long {
    // SAFETY: the program's own call; its seventh argument lies above the return address.
    unsafe {
        let value3 = *caller.add(1);
        let arguments = [word, operation as usize, value as usize, timeout, word2, value3];
        match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI => {
                wait_for_event(Op::FutexWait, word, caller, || futex(arguments) as i32, slept)
                    .into()
            }
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
                waking(word);
                happened(Op::FutexWake, word, caller);
                futex(arguments)
            }
            _ => futex(arguments),
        }
    }
}

/// The outcome of a wait. If the word had already changed, there was no wait.
fn slept(result: c_int) -> Outcome {
    // SAFETY: errno is always there.
    match unsafe { *libc::__errno_location() } {
        _ if result == 0 => Outcome::Got,
        libc::ETIMEDOUT => Outcome::TimedOut,
        libc::EINTR => Outcome::Interrupted,
        _ => Outcome::Failed,
    }
}

/// Makes the system call as the C library does.
unsafe fn futex([a, b, c, d, e, f]: [usize; 6]) -> c_long {
    let result: c_long;
    // SAFETY: the program's own call. The kernel writes to the memory that it was given.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_futex => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
        if result > -4096 && result < 0 { failed(result) } else { result }
    }
}
