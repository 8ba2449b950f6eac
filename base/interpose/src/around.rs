//! System calls that do not go through functions of the program.

/// `go_around!();` in a preloaded library defines the library's own versions of the C library's
/// functions that are listed below, as plain system calls. Any code in the library that calls
/// `close`, even the standard library when a descriptor is dropped, then calls the library's own
/// version.
///
/// A program may put functions of its own in front of the C library's; browsers, runtimes and
/// tracers do so for `close`, `mmap` and `read`. Such a function may take a lock of the program. A
/// library that calls such a function while the program acquires or holds that lock would wait for
/// ever. The names defined here are hidden, so neither the program nor another library finds them.
/// `go_around! { "NAME" = NUMBER, }` adds a system call by its number.
#[macro_export]
macro_rules! go_around {
    () => {
        $crate::go_around! {
            "read" = 0, "write" = 1, "open" = 2, "open64" = 2, "close" = 3, "stat64" = 4,
            "fstat64" = 5, "lseek64" = 8, "mmap" = 9, "mmap64" = 9, "mprotect" = 10, "munmap" = 11,
            "writev" = 20, "madvise" = 28, "getpid" = 39, "readlink" = 89,
            "getrlimit" = 97, "gettid" = 186, "process_vm_readv" = 310, "statx" = 332,
        }
    };
    ($($name:literal = $number:literal,)*) => {
        $(
            core::arch::global_asm!(
                concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ", @function"),
                concat!($name, ":"),
                "mov eax, {number}",
                "mov r10, rcx",
                "syscall",
                "cmp rax, -4095",
                "jae 2f",
                "ret",
                "2:",
                // Failed: errno is the negated result.
                "neg eax",
                "push rax",
                "call __errno_location@PLT",
                "pop rcx",
                "mov dword ptr [rax], ecx",
                "mov rax, -1",
                "ret",
                concat!(".size ", $name, ", . - ", $name),
                ".popsection",
                number = const $number,
            );
        )*
    };
}
