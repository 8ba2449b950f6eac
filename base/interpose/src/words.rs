//! Words of a thread, at a fixed distance from the thread pointer.

/// `thread_words! { "SYMBOL" of BYTES bytes; get, set at OFFSET: type; ... }` makes two functions
/// for each word. No other library of the program may have the same symbol.
///
/// The library has to be loaded when the program starts, so that its thread-local words can be of
/// the *initial-exec* kind: they are reached by two moves, without a call. Rust has no stable way
/// to request that, so the words are declared and accessed in assembly. The words start as zero,
/// outlive all destructors, and survive `fork` in the thread that forked.
#[macro_export]
macro_rules! thread_words {
    (
        $symbol:literal of $bytes:literal bytes;
        $($(#[$doc:meta])* $get:ident, $set:ident at $offset:literal: $type:ty;)*
    ) => {
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ",\"awT\",@nobits"),
            ".p2align 4",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @object"),
            concat!(".size ", $symbol, ", ", $bytes),
            concat!($symbol, ":"),
            concat!(".skip ", $bytes),
            ".popsection",
        );
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $get() -> $type {
                let value: usize;
                // SAFETY: reads this thread's own word, which exists as long as the thread.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {value}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        concat!("mov {value}, qword ptr fs:[{value} + ", $offset, "]"),
                        value = out(reg) value,
                        options(nostack, preserves_flags, readonly),
                    );
                }
                value as $type
            }

            #[doc = concat!("Sets [`", stringify!($get), "`].")]
            #[inline]
            pub fn $set(value: $type) {
                // SAFETY: writes this thread's own word.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        concat!("mov qword ptr fs:[{at} + ", $offset, "], {value}"),
                        at = out(reg) _,
                        value = in(reg) value as usize,
                        options(nostack, preserves_flags),
                    );
                }
            }
        )*
    };
}
