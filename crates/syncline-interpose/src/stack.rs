//! Another stack for work that the program's own may have no room for: a thread may have 16 KiB of
//! it, and of a coroutine's stack nobody knows the size.

use core::arch::asm;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// Runs something on another stack.
///
/// # Safety
/// Below `stack_end`, which is a multiple of 16, there is a stack that nobody else uses.
pub unsafe fn run_on<R, F: FnOnce() -> R>(stack_end: *mut u8, action: F) -> R {
    struct Job<R, F> {
        action: Option<F>,
        result: Option<R>,
    }
    // A panic can't leave a function of this ABI, so nothing unwinds across the stacks.
    unsafe extern "C" fn run<R, F: FnOnce() -> R>(job: *mut c_void) {
        // SAFETY: the job below.
        let job = unsafe { &mut *job.cast::<Job<R, F>>() };
        job.result = job.action.take().map(|action| action());
    }
    let mut job = Job { action: Some(action), result: None };
    let function: unsafe extern "C" fn(*mut c_void) = run::<R, F>;
    // SAFETY: by this function's own condition. `r12` is one of the registers that the
    // called function leaves as they were, and brings our own stack back.
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

/// Runs something with all signals blocked that can be.
///
/// On another stack a handler would not find the one that the program gave it; one that leaves by
/// `siglongjmp` would never give it back; and the kernel, which tells by the stack pointer whether
/// a thread is on its alternate signal stack, would begin at the top of that one again and write
/// over a handler that waits there.
pub fn with_signals_blocked<R>(action: impl FnOnce() -> R) -> R {
    // SAFETY: both sets are ours.
    unsafe {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let result = action();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        result
    }
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
        // SAFETY: the vector's memory, which nobody else uses; elements are aligned to 16.
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
