//! Builds signal frames. A signal frame has the complete state with which a thread goes on where it
//! was, in the form that `rt_sigreturn` reads.
//!
//! The frame has the parts that the kernel writes to deliver a signal (`struct rt_sigframe` of
//! x86-64): `struct ucontext`, and at another place the extended state with its marks.

use std::arch::x86_64::__cpuid_count;

use libc::user_regs_struct as Registers;

/// The size of the context in bytes.
pub const CONTEXT: u64 = 304;
/// The mark of an extended state that is larger than the oldest form. It is in the first part of
/// the state, and [`MAGIC2`] follows the state.
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;
/// The offset of the marks in the state's first part.
const MARKS: usize = 464;
/// The offset of the word that says which parts of the state are in use, a bit each.
const IN_USE: usize = 512;
/// The size of the state's first two parts and its header in bytes.
const FIRST: usize = 576;
/// The value of `uc_flags`: the frame has an extended state and a stack segment, which is to be
/// restored as it is.
const FLAGS: u64 = 7;
/// An invalid mode of the alternate signal stack. It makes `rt_sigreturn` leave that stack as it
/// is. (The frame can't have the right values, since they can't be read from outside.)
const NO_STACK_MODE: u32 = 7;

/// The state of a thread.
#[derive(Clone)]
pub struct State {
    pub registers: Registers,
    /// The extended state as `ptrace` returns it, with the parts that are not in use.
    pub extended: Vec<u8>,
    pub mask: u64,
}

/// Which parts of an extended state are in use, a bit each, and the state up to the end of the last
/// of them.
///
/// `ptrace` returns all parts that the processor has. But if a frame has more parts than the
/// program may use (a program must ask for tiles, which have 8 KiB), `rt_sigreturn` clears all
/// parts except the first two.
fn in_use(extended: &[u8]) -> (u64, &[u8]) {
    const PARTS: u32 = 0xd;
    /// The bits of x87 and SSE, which a frame always has.
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

/// Builds a frame that ends below `top`. Returns the address of its context, a multiple of 16 at
/// which the frame begins, and its bytes.
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

/// The extended state with its marks. `rt_sigreturn` restores the given parts and clears all
/// others.
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
    fn unused_state_components_are_left_out() {
        let with = |parts: u64| {
            let mut extended = vec![0; 12_000];
            extended[IN_USE..IN_USE + 8].copy_from_slice(&parts.to_ne_bytes());
            in_use(&extended).1.len()
        };
        assert_eq!(with(0b11), 576);
        // The third part has the same position on all processors.
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
