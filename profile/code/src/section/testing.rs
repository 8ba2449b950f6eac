//! Assembles instructions for tests.

/// The decoded instructions of lines of assembly. Label `2` is at the first instruction, and label
/// `3` after the last.
macro_rules! instructions {
    ($($line:literal),* $(,)?) => {{
        let (start, end): (usize, usize);
        // SAFETY: the jump to label `3` skips the given lines, so only two `lea` and the jump are
        // executed.
        unsafe {
            core::arch::asm!(
                "lea {start}, [rip + 2f]",
                "lea {end}, [rip + 3f]",
                "jmp 3f",
                "2:",
                $($line,)*
                "3:",
                start = out(reg) start,
                end = out(reg) end,
                options(nomem, nostack),
            );
        }
        // SAFETY: a program may read its own instructions.
        let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
        let decoder = iced_x86::Decoder::with_ip(
            64,
            bytes,
            start as u64,
            iced_x86::DecoderOptions::NONE,
        );
        decoder.into_iter().collect::<Vec<iced_x86::Instruction>>()
    }};
}
pub(super) use instructions;
