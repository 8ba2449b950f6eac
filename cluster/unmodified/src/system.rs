//! System calls that are never passed on, and the ends of signal handlers.

use std::arch::asm;

unsafe extern "C" {
    static syncline_unmodified_ends: u8;
    static syncline_unmodified_direct: u8;
    /// Returns from a signal handler. The kernel's `sa_restorer`.
    pub safe fn syncline_unmodified_return();
    /// Returns from a signal handler whose frame is at `stack_pointer`, in place of its own return.
    fn syncline_unmodified_return_from(stack_pointer: usize, selector: *mut u8) -> !;
}

/// Makes a system call that is not passed to `calls`. Returns the kernel's result, which is negative
/// for an error.
///
/// # Safety
///
/// As that call requires.
pub unsafe fn direct(number: i64, arguments: [usize; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: by our caller's word. The called instructions are the two below, and keep the
    // registers that a system call keeps.
    unsafe {
        asm!(
            "call syncline_unmodified_direct",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// Ends this process, with all its threads.
pub fn exit(status: usize) -> ! {
    loop {
        // SAFETY: ends this process.
        unsafe { direct(libc::SYS_exit_group, [status, 0, 0, 0, 0, 0]) };
    }
}

/// Returns from the signal handler of the program whose frame is at this stack pointer.
///
/// # Safety
///
/// `selector` is the calling thread's. The program's handler has returned, and is about to make the system call `rt_sigreturn`.
pub unsafe fn return_from(stack_pointer: usize, selector: *mut u8) -> ! {
    // SAFETY: by our caller's word. The selector is set at last, by the assembly.
    unsafe { syncline_unmodified_return_from(stack_pointer, selector) }
}

/// The addresses of the instructions whose system calls are never passed on: the first one, and how
/// many bytes.
pub fn instructions() -> (usize, usize) {
    let (start, end) = (&raw const syncline_unmodified_direct, &raw const syncline_unmodified_ends);
    (start.addr(), end.addr() - start.addr())
}

// System calls between the two labels are never passed on.
std::arch::global_asm!(
    ".pushsection .text.syncline_unmodified,\"ax\",@progbits",
    ".globl syncline_unmodified_direct",
    ".hidden syncline_unmodified_direct",
    "syncline_unmodified_direct:",
    "syscall",
    "ret",
    ".globl syncline_unmodified_return",
    ".hidden syncline_unmodified_return",
    "syncline_unmodified_return:",
    "mov eax, 15",
    "syscall",
    "ud2",
    ".globl syncline_unmodified_return_from",
    ".hidden syncline_unmodified_return_from",
    "syncline_unmodified_return_from:",
    "mov byte ptr [rsi], 1",
    "mov rsp, rdi",
    "mov eax, 15",
    "syscall",
    "ud2",
    ".globl syncline_unmodified_ends",
    ".hidden syncline_unmodified_ends",
    "syncline_unmodified_ends:",
    "nop",
    ".popsection",
);
