//! The entry of an interposed function.

/// `entry! { fn NAME(args) -> type; }` exports a function of that name.
///
/// The exported function has two instructions. The first puts the stack pointer, which points to
/// the return address, into the register after the arguments; the second jumps to the function of
/// the same name in the module `imp` next to it. So to the caller's unwinder, to a cancellation and
/// to a debugger, the stack looks as if libc's function had been called.
#[macro_export]
macro_rules! entry {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        $(
            /// # Safety
            /// Same requirements as the C library's function of this name.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name($($arg: $type),*) $(-> $ret)? {
                core::arch::naked_asm!(
                    concat!("mov ", $crate::next_register!($($arg)*), ", rsp"),
                    "jmp {imp}",
                    imp = sym imp::$name,
                )
            }
        )*
    };
}

/// The register of the argument after the given ones, for [`entry!`].
#[doc(hidden)]
#[macro_export]
macro_rules! next_register {
    () => {
        "rdi"
    };
    ($a:ident) => {
        "rsi"
    };
    ($a:ident $b:ident) => {
        "rdx"
    };
    ($a:ident $b:ident $c:ident) => {
        "rcx"
    };
    ($a:ident $b:ident $c:ident $d:ident) => {
        "r8"
    };
    ($a:ident $b:ident $c:ident $d:ident $e:ident) => {
        "r9"
    };
}
