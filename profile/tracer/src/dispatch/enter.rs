//! The transition from translated code into the engine's Rust code and back. It keeps the general
//! registers, the flags, and the x87 and vector registers.
//!
//! The engine runs on a stack of its own, so the program's red zone stays as it is. It returns by
//! `iretq`, which restores flags, stack pointer and instruction pointer at once. `iretq` also
//! serializes, so the processor fetches anew the code that was written meanwhile.

use core::arch::naked_asm;
use core::mem::offset_of;

use super::dispatch;
use crate::engine::context::Context;

/// Enters the engine. Translated code jumps here, with the context in rdi; it has saved the
/// program's value of rdi.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    naked_asm!(
        "mov [rdi + {r} + 0], rax",
        "mov [rdi + {r} + 8], rcx",
        "mov [rdi + {r} + 16], rdx",
        "mov [rdi + {r} + 24], rbx",
        "mov [rdi + {r} + 32], rsp",
        "mov [rdi + {r} + 40], rbp",
        "mov [rdi + {r} + 48], rsi",
        "mov [rdi + {r} + 64], r8",
        "mov [rdi + {r} + 72], r9",
        "mov [rdi + {r} + 80], r10",
        "mov [rdi + {r} + 88], r11",
        "mov [rdi + {r} + 96], r12",
        "mov [rdi + {r} + 104], r13",
        "mov [rdi + {r} + 112], r14",
        "mov [rdi + {r} + 120], r15",
        "mov rsp, [rdi + {stack}]",
        "pushfq",
        "pop qword ptr [rdi + {flags}]",
        "cld",
        "mov rbx, rdi",
        "mov eax, [rbx + {mask}]",
        "xor edx, edx",
        "xsave64 [rbx + {vectors}]",
        "call {dispatch}",
        "mov eax, [rbx + {mask}]",
        "xor edx, edx",
        "xrstor64 [rbx + {vectors}]",
        "mov rdi, rbx",
        "mov ax, ss",
        "movzx eax, ax",
        "push rax",
        "push qword ptr [rdi + {r} + 32]",
        "push qword ptr [rdi + {flags}]",
        "mov ax, cs",
        "movzx eax, ax",
        "push rax",
        "push qword ptr [rdi + {next}]",
        "mov rax, [rdi + {r} + 0]",
        "mov rcx, [rdi + {r} + 8]",
        "mov rdx, [rdi + {r} + 16]",
        "mov rbx, [rdi + {r} + 24]",
        "mov rbp, [rdi + {r} + 40]",
        "mov rsi, [rdi + {r} + 48]",
        "mov r8, [rdi + {r} + 64]",
        "mov r9, [rdi + {r} + 72]",
        "mov r10, [rdi + {r} + 80]",
        "mov r11, [rdi + {r} + 88]",
        "mov r12, [rdi + {r} + 96]",
        "mov r13, [rdi + {r} + 104]",
        "mov r14, [rdi + {r} + 112]",
        "mov r15, [rdi + {r} + 120]",
        "mov rdi, [rdi + {r} + 56]",
        "iretq",
        r = const offset_of!(Context, registers),
        stack = const offset_of!(Context, stack),
        flags = const offset_of!(Context, flags),
        mask = const offset_of!(Context, vector_mask),
        vectors = const offset_of!(Context, vectors),
        next = const offset_of!(Context, next),
        dispatch = sym dispatch,
    )
}
