//! The gate between the program's code and this library's.
//!
//! A thread of the program runs on a stack in global memory, and its system calls are passed to
//! `calls`. This library's code runs on the thread's other stack, which is not global: the code
//! holds the node's lock while it moves pages, so its own stack must not be one of them. And its
//! system calls go to the kernel directly.

use std::arch::asm;
use std::cell::Cell;
use std::ptr::null_mut;

use syncline_interpose::{preserving_errno, run_on};

use crate::fail::cannot;
use crate::image;
use crate::system::{self, direct};

/// The values that the kernel looks for in a thread's selector.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
const ON: libc::c_ulong = 1;

thread_local! {
    /// Read by the kernel at each system call of a thread for which this is switched on.
    static SELECTOR: Cell<u8> = const { Cell::new(ALLOW) };
    /// The end of the unused part of the thread's other stack.
    static OWN_STACK: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread runs the program's code.
#[inline]
pub fn in_program() -> bool {
    SELECTOR.get() == BLOCK
}

/// Whether the program's code passes an object in global memory. An object elsewhere belongs to a
/// library, of which each rank has its own.
#[inline]
pub fn shares<T>(object: *const T) -> bool {
    in_program() && image::is_global(object.addr())
}

/// Runs this library's code in a thread of the program. `errno` stays as it is.
#[inline]
pub fn ours<R>(action: impl FnOnce() -> R) -> R {
    let before = SELECTOR.replace(ALLOW);
    let result = preserving_errno(|| {
        if !image::is_global(stack_pointer()) {
            return action();
        }
        let end = OWN_STACK.get() as *mut u8;
        // SAFETY: below `OWN_STACK` the thread's other stack is unused: this code is the only one
        // that runs there, since code that runs there is not on a global stack.
        unsafe { run_on(end, action) }
    });
    SELECTOR.set(before);
    result
}

/// Ends a signal handler of the program whose frame is at this stack pointer.
///
/// # Safety
///
/// The handler has returned, and is about to make the system call `rt_sigreturn`.
pub unsafe fn return_from(stack_pointer: usize) -> ! {
    // SAFETY: by our caller's word; this thread's selector.
    unsafe { system::return_from(stack_pointer, SELECTOR.with(Cell::as_ptr)) }
}

/// Runs the program's code within this library's: its signal handlers.
pub fn program<R>(action: impl FnOnce() -> R) -> R {
    let before = SELECTOR.replace(BLOCK);
    let result = action();
    SELECTOR.set(before);
    result
}

/// From now on the calling thread runs only this library's code: its end.
pub fn leave() {
    SELECTOR.set(ALLOW);
}

/// Calls a function of the program on a stack in global memory, in a thread that has passed
/// [`open`].
///
/// # Safety
///
/// `stack_end` is a multiple of 16, below it is unused memory, and the function may be called with
/// the argument.
pub unsafe fn call_on(
    stack_end: *mut u8,
    function: Function,
    argument: *mut libc::c_void,
) -> *mut libc::c_void {
    // The call below pushes two words; the rest is a margin.
    OWN_STACK.set((stack_pointer() - 1024) & !15);
    SELECTOR.set(BLOCK);
    // SAFETY: by this function's own condition.
    unsafe { syncline_unmodified_call_on(function, argument, stack_end) }
}

/// A function of the program that a thread begins with.
pub type Function = extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void;

/// From now on the calling thread's system calls can be passed to `calls`, and signal handlers run
/// on a stack that is not global.
pub fn open() {
    let (start, bytes) = system::instructions();
    let selector = SELECTOR.with(Cell::as_ptr);
    // SAFETY: the selector lives as long as the thread.
    let result = unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, ON, start, bytes, selector) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        cannot(&format!("this system can't pass system calls on ({error})"));
    }
    let stack = libc::stack_t { ss_sp: handlers_stack(), ss_flags: 0, ss_size: HANDLERS };
    // SAFETY: the memory is this thread's alone.
    unsafe { libc::syscall(libc::SYS_sigaltstack, &raw const stack, null_mut::<libc::stack_t>()) };
}

/// The size of a thread's stack for signal handlers.
const HANDLERS: usize = 256 << 10;

fn handlers_stack() -> *mut libc::c_void {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory, by a system call of our own: `mmap` is the program's.
    let stack = unsafe {
        direct(libc::SYS_mmap, [0, HANDLERS, access as usize, flags as usize, usize::MAX, 0])
    };
    if stack < 0 {
        cannot("there is no memory for a stack for signal handlers");
    }
    stack as *mut libc::c_void
}

/// Gives the calling thread's stack for signal handlers back. Its handlers run on its own stack
/// from now on.
pub fn close() {
    let mut stack = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    let mut before = stack;
    // SAFETY: exchanges the thread's stack, and then unmaps the one that `open` has mapped.
    unsafe {
        libc::syscall(libc::SYS_sigaltstack, &raw mut stack, &raw mut before);
        direct(libc::SYS_munmap, [before.ss_sp.addr(), before.ss_size, 0, 0, 0, 0]);
    }
}

fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

unsafe extern "C-unwind" {
    fn syncline_unmodified_call_on(
        function: Function,
        argument: *mut libc::c_void,
        stack_end: *mut u8,
    ) -> *mut libc::c_void;
}

// Describes its frame to unwinders: C++ exceptions and the ends of threads walk over it.
std::arch::global_asm!(
    ".pushsection .text.syncline_unmodified_call_on,\"ax\",@progbits",
    ".globl syncline_unmodified_call_on",
    ".hidden syncline_unmodified_call_on",
    ".type syncline_unmodified_call_on, @function",
    "syncline_unmodified_call_on:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsp, rdx",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size syncline_unmodified_call_on, . - syncline_unmodified_call_on",
    ".popsection",
);
