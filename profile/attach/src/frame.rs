//! Builds signal frames. A signal frame has everything that a thread needs to go on where it was,
//! in the form that `rt_sigreturn` reads.
//!
//! The frame is laid out as the kernel lays it out to deliver a signal (`struct rt_sigframe` of
//! x86-64): `struct ucontext`, and elsewhere the extended state with its marks.

use libc::user_regs_struct as Registers;

/// Bytes of the context.
pub const CONTEXT: u64 = 304;
/// These mark an extended state that is larger than the oldest form: one at its beginning, one at
/// its end.
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;
/// The offset of the marks at the state's beginning.
const MARKS: usize = 464;
/// `uc_flags`: there is an extended state, and a stack segment, which is to be restored as it is.
const FLAGS: u64 = 7;
/// An invalid mode of the alternate stack. It makes `rt_sigreturn` leave that stack as it is; the
/// stack can't be read from outside.
const NO_STACK_MODE: u32 = 7;

/// The state of a thread.
#[derive(Clone)]
pub struct State {
    pub registers: Registers,
    pub extended: Vec<u8>,
    pub mask: u64,
}

/// A frame that fits below an address, and the address of its context, which is aligned to 16
/// bytes.
pub fn below(top: u64, state: &State) -> (u64, Vec<u8>) {
    let size = state.extended.len() as u64 + 4;
    let extended_at = (top - size) & !63;
    let context_at = (extended_at - CONTEXT) & !15;
    let mut bytes = context(state, extended_at);
    bytes.resize((extended_at - context_at) as usize, 0);
    bytes.extend(marked(&state.extended));
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

fn marked(extended: &[u8]) -> Vec<u8> {
    let mut bytes = extended.to_vec();
    let size = bytes.len() as u32;
    bytes.extend(MAGIC2.to_ne_bytes());
    if bytes.len() > MARKS + 24 {
        // The features are there already.
        let features: [u8; 8] = bytes[MARKS..MARKS + 8].try_into().expect("eight bytes");
        bytes[MARKS..MARKS + 4].copy_from_slice(&MAGIC1.to_ne_bytes());
        bytes[MARKS + 4..MARKS + 8].copy_from_slice(&(size + 4).to_ne_bytes());
        bytes[MARKS + 8..MARKS + 16].copy_from_slice(&features);
        bytes[MARKS + 16..MARKS + 20].copy_from_slice(&size.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

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
