//! Runs work on another stack, because the program's may have no room for it: a thread may have
//! only 16 KiB, and the size of a coroutine's stack is unknown.

use core::arch::asm;
use core::ffi::c_void;
use core::ptr::null_mut;

/// Runs a function on another stack.
///
/// # Safety
/// `stack_end` is a multiple of 16, and below it there is a stack that no other code uses.
pub unsafe fn run_on<R, F: FnOnce() -> R>(stack_end: *mut u8, action: F) -> R {
    struct Job<R, F> {
        action: Option<F>,
        result: Option<R>,
    }
    // A panic can't leave a function of this ABI, so no unwinding crosses from one stack to the
    // other.
    unsafe extern "C" fn run<R, F: FnOnce() -> R>(job: *mut c_void) {
        // SAFETY: the pointer is to the job below.
        let job = unsafe { &mut *job.cast::<Job<R, F>>() };
        job.result = job.action.take().map(|action| action());
    }
    let mut job = Job { action: Some(action), result: None };
    let function: unsafe extern "C" fn(*mut c_void) = run::<R, F>;
    // SAFETY: by this function's own condition. `r12` is one of the registers that the called
    // function preserves, and restores our own stack pointer.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {stack_end}",
            "call {function}",
            "mov rsp, r12",
            stack_end = in(reg) stack_end,
            function = in(reg) function,
            in("rdi") &raw mut job,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    match job.result {
        Some(result) => result,
        None => unreachable!("the job has run"),
    }
}

/// Runs a function while all signals that can be blocked are blocked.
///
/// On another stack, this avoids three problems. A handler would not find the stack that the
/// program gave it. A handler that leaves by `siglongjmp` would never give the stack back. And the
/// kernel checks by the stack pointer whether a thread is on its alternate signal stack: it would
/// start at the top of that stack again, and overwrite a handler that waits there.
pub fn with_signals_blocked<R>(action: impl FnOnce() -> R) -> R {
    /// All signals except the two that the C library keeps for itself, 32 and 33.
    const ALL: u64 = !(0b11 << 31);
    let before = exchange_mask(ALL);
    let result = action();
    exchange_mask(before);
    result
}

/// Sets the calling thread's signal mask. Returns the previous one.
fn exchange_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: the kernel reads `mask` and writes `before`.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask => _,
            in("rdi") libc::SIG_SETMASK,
            in("rsi") &raw const mask,
            in("rdx") &raw mut before,
            in("r10") size_of::<u64>(),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    before
}

/// The calling thread's alternate signal stack; its size is 0 if there is none.
pub fn alternate_stack() -> libc::stack_t {
    let mut stack = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: no new stack is passed, so the kernel only writes the structure above.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_sigaltstack => _,
            in("rdi") 0,
            in("rsi") &raw mut stack,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    stack
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::{run_on, with_signals_blocked};

    #[test]
    fn work_runs_on_the_stack_that_it_is_given_and_returns() {
        let mut stack = vec![0_u128; 4096];
        let range = stack.as_ptr_range();
        // SAFETY: the vector's memory, which no other code uses; elements are aligned to 16.
        let inside = unsafe {
            run_on(stack.as_mut_ptr_range().end.cast(), || {
                let here = 0_u8;
                (range.start.addr()..range.end.addr()).contains(&(&raw const here).addr())
            })
        };
        assert!(inside);
        assert_eq!(with_signals_blocked(|| 7), 7);
    }
}
