//! Builds signal frames. A signal frame has everything that a thread needs to go on where it was,
//! in the form that `rt_sigreturn` reads.
//!
//! The frame is laid out as the kernel lays it out to deliver a signal (`struct rt_sigframe` of
//! x86-64): `struct ucontext`, and elsewhere the extended state with its marks.

use std::arch::x86_64::__cpuid_count;

use libc::user_regs_struct as Registers;

/// Bytes of the context.
pub const CONTEXT: u64 = 304;
/// These mark an extended state that is larger than the oldest form: one at its beginning, one at
/// its end.
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;
/// The offset of the marks at the state's beginning.
const MARKS: usize = 464;
/// The offset of the word that says which parts of the extended state are in use, a bit each.
const IN_USE: usize = 512;
/// Bytes of the first two parts of the extended state, and of its header.
const FIRST: usize = 576;
/// `uc_flags`: there is an extended state, and a stack segment, which is to be restored as it is.
const FLAGS: u64 = 7;
/// An invalid mode of the alternate stack. It makes `rt_sigreturn` leave that stack as it is; the
/// stack can't be read from outside.
const NO_STACK_MODE: u32 = 7;

/// The state of a thread.
#[derive(Clone)]
pub struct State {
    pub registers: Registers,
    /// As `ptrace` gives it, with the parts that are not in use.
    pub extended: Vec<u8>,
    pub mask: u64,
}

/// The parts of an extended state that are in use, a bit each, and the state up to the end of the
/// last of them.
///
/// Outside of signal frames the kernel gives all parts that the processor has. If a frame has more
/// than the program may use (tiles are 8 KiB, and a program must ask for them), `rt_sigreturn`
/// clears all parts but the first two.
fn in_use(extended: &[u8]) -> (u64, &[u8]) {
    const PARTS: u32 = 0xd;
    /// x87 and SSE, which a frame always has.
    const FIRST_TWO: u64 = 3;
    let Some(used) = extended.get(IN_USE..IN_USE + 8) else { return (FIRST_TWO, extended) };
    let used = u64::from_ne_bytes(used.try_into().expect("eight bytes"));
    let end = |part| {
        let part = __cpuid_count(PARTS, part);
        (part.ebx + part.eax) as usize
    };
    let ends = (2..63).filter(|part| used & 1 << part != 0).map(end);
    let end = ends.fold(FIRST, usize::max).min(extended.len());
    (used | FIRST_TWO, &extended[..end])
}

/// A frame that fits below an address, and the address of its context, which is aligned to 16
/// bytes.
pub fn below(top: u64, state: &State) -> (u64, Vec<u8>) {
    let (parts, extended) = in_use(&state.extended);
    let size = extended.len() as u64 + 4;
    let extended_at = (top - size) & !63;
    let context_at = (extended_at - CONTEXT) & !15;
    let mut bytes = context(state, extended_at);
    bytes.resize((extended_at - context_at) as usize, 0);
    bytes.extend(marked(extended, parts));
    (context_at, bytes)
}

fn context(state: &State, extended_at: u64) -> Vec<u8> {
    let r = &state.registers;
    let segments = r.cs | (r.ss << 48);
    let words = [
        FLAGS,
        0,
        0,
        NO_STACK_MODE.into(),
        0, // flags, link, stack
        r.r8,
        r.r9,
        r.r10,
        r.r11,
        r.r12,
        r.r13,
        r.r14,
        r.r15,
        r.rdi,
        r.rsi,
        r.rbp,
        r.rbx,
        r.rdx,
        r.rax,
        r.rcx,
        r.rsp,
        r.rip,
        r.eflags,
        segments,
        0,
        0,
        0,
        0,
        extended_at,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0, // reserved
        state.mask,
    ];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The extended state with its marks. `rt_sigreturn` reads these parts, and clears all others; it
/// may read all bytes of a part that is named, even if the part is not in use.
fn marked(extended: &[u8], parts: u64) -> Vec<u8> {
    let mut bytes = extended.to_vec();
    let size = bytes.len() as u32;
    bytes.extend(MAGIC2.to_ne_bytes());
    if bytes.len() > MARKS + 24 {
        bytes[MARKS..MARKS + 4].copy_from_slice(&MAGIC1.to_ne_bytes());
        bytes[MARKS + 4..MARKS + 8].copy_from_slice(&(size + 4).to_ne_bytes());
        bytes[MARKS + 8..MARKS + 16].copy_from_slice(&parts.to_ne_bytes());
        bytes[MARKS + 16..MARKS + 20].copy_from_slice(&size.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_in_use_are_left_out() {
        let with = |parts: u64| {
            let mut extended = vec![0; 12_000];
            extended[IN_USE..IN_USE + 8].copy_from_slice(&parts.to_ne_bytes());
            in_use(&extended).1.len()
        };
        assert_eq!(with(0b11), 576);
        // The place of the third part is the same on all processors.
        assert_eq!(with(0b111), if is_x86_feature_detected!("avx") { 832 } else { 576 });
        assert_eq!(in_use(&[0; 512]).1.len(), 512, "without xsave");
    }

    #[test]
    fn a_frame_is_aligned_and_lies_below() {
        // SAFETY: all zero is valid.
        let registers: Registers = unsafe { std::mem::zeroed() };
        for top in 0x10_0000..0x10_0040 {
            let state = State { registers, extended: vec![0; 2696], mask: 5 };
            let (at, bytes) = below(top, &state);
            assert_eq!(at % 16, 0);
            assert!(at + bytes.len() as u64 <= top);
            assert_eq!(bytes[CONTEXT as usize - 8], 5, "the mask comes last");
        }
    }
}
