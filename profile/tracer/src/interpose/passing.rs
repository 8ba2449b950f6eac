//! The fast path, for locks that are acquired often.
//!
//! If tracing has a budget, most acquisitions at a busy call site are passed over, which means not
//! even counted (`thread::often`). Nothing has to be done at their release. Here, a dozen
//! instructions without a stack frame decide whether a call is passed over, before anything else is
//! checked. This is only a shortcut: all other calls go to `imp`, which decides the same way.
//!
//! An acquisition is passed over if its call site allows it and the lock's word says that the lock
//! is free. (Acquisitions that wait must all be counted, and an acquisition of a free lock does not
//! wait.)

/// Exports a function of this name that begins with the given instructions, which use the given
/// operands. They jump to `2f` for the slow path. If they don't jump, the call is passed over.
macro_rules! past {
    ($name:ident [$($instructions:literal)*] [$($operands:tt)*]) => {
        /// # Safety
        /// Same requirements as the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name(lock: *mut core::ffi::c_void) -> core::ffi::c_int {
            unsafe extern "C-unwind" fn pass(
                lock: *mut core::ffi::c_void,
            ) -> core::ffi::c_int {
                // SAFETY: the program's own call.
                unsafe { real::$name(lock) }
            }
            core::arch::naked_asm!(
                $($instructions,)*
                "jmp {pass}",
                "2:",
                "mov rsi, rsp",
                "jmp {imp}",
                $($operands)*
                pass = sym pass,
                imp = sym imp::$name,
            )
        }
    };
}

/// `locks! { fn NAME if word & MASK == FREE; }` exports a function that acquires the lock that its
/// argument points to. The lock is free if the bits `MASK` of its first four bytes have the value
/// `FREE`. The invoking module has the slow path in its module `imp` and the C library's function
/// in `real`, both under the same name.
macro_rules! locks {
    ($(fn $name:ident if word & $mask:literal == $free:literal;)*) => {
        $($crate::interpose::passing::past! {
            $name
            [
                // The call site is in one of two slots of the thread's storage, as in `often`.
                "mov rax, qword ptr [rsp]"
                "imul r11d, eax, {mix}"
                "shr r11d, {shift}"
                "shl r11d, {bits} + 1"
                "add r11, qword ptr [rip + syncline_inspect_thread@GOTTPOFF]"
                "cmp qword ptr fs:[r11 + {sites} + {at}], rax"
                "je 3f"
                "add r11, 1 << {bits}"
                "cmp qword ptr fs:[r11 + {sites} + {at}], rax"
                "jne 2f"
                "3:"
                "cmp dword ptr fs:[r11 + {sites} + {next}], 1"
                "jle 2f"
                "mov eax, dword ptr [rdi]"
                "and eax, {mask}"
                "cmp eax, {free}"
                "jne 2f"
                "dec dword ptr fs:[r11 + {sites} + {next}]"
            ]
            [
                mix = const $crate::thread::often::MIX,
                shift = const $crate::thread::often::SHIFT,
                bits = const $crate::thread::often::Site::BITS,
                sites = const $crate::tls::SITES,
                at = const $crate::thread::often::Site::AT,
                next = const $crate::thread::often::Site::NEXT,
                mask = const $mask,
                free = const $free,
            ]
        })*
    };
}

/// `unlocks! { fn NAME; }` exports a function that releases the lock that its argument points to.
/// The invoking module has the same parts as for [`locks!`].
macro_rules! unlocks {
    ($(fn $name:ident;)*) => {
        $($crate::interpose::passing::past! {
            $name
            [
                "mov rax, qword ptr [rip + syncline_inspect_thread@GOTTPOFF]"
                // The shortcut may be taken if the thread is not tracing and does not measure how
                // long this lock is held.
                "cmp qword ptr fs:[rax + {context}], 0"
                "jne 2f"
                "cmp qword ptr fs:[rax + {timed}], rdi"
                "je 2f"
            ]
            [
                context = const $crate::tls::CONTEXT,
                timed = const $crate::tls::TIMED,
            ]
        })*
    };
}

pub(super) use {locks, past, unlocks};
