//! Bit spinlocks (`bit_spin_lock`, `hlist_bl_lock`), which the compiler inlines.
//!
//! ```text
//!  retry:  lock bts $BIT, WORD       sets the bit, and says whether it was set
//!          jc    busy                or `jnc taken`
//!  taken:  ...
//!          btr $BIT, WORD            releases; or `lock btr`, `and`, `lock and`, a plain store
//!  busy:   pause
//!          bt    $BIT, WORD          in any form
//!          jc    busy
//!          jmp   retry
//! ```
//!
//! `lock bts` also sets bits that are not locks. In that case, no `pause` follows on the path that
//! is taken if the bit was set already. No `pause` follows a failed try (`bit_spin_trylock`)
//! either, so tries are not recognized. The conditional jump ends the emulator's block. Whether the
//! bit was taken is therefore known from the address of the next block at the same level.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use crate::role::{Action, Kind, Role};

/// The longest instruction, in bytes.
pub const LONGEST: usize = 15;
/// The most instructions between an attempt and its jump, or between a failure and the pause.
const NEAR: usize = 8;

/// An instruction that attempts to take a bit spinlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Distance in bytes of the bit's byte from the operand.
    pub byte: u8,
    /// Position of the bit in its byte.
    pub bit: u8,
    /// The address after the instruction, which stands for the call site.
    pub site: u64,
    /// The address at which execution continues if the lock was taken.
    pub taken: u64,
    /// The address at which execution continues if the lock was not taken.
    pub busy: u64,
}

/// The outcome of an attempt to take a bit spinlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The lock was taken.
    Taken(Role),
    /// Another task holds the lock.
    Busy(Role),
}

impl Attempt {
    /// The role of an acquisition of this bit.
    pub fn role(&self) -> Role {
        role(self.bit)
    }
}

/// The role of an acquisition or release of this bit of a byte.
pub fn role(bit: u8) -> Role {
    Role { kind: Kind::Bit(bit), shared: false, action: Action::Lock }
}

/// The attempt that an instruction makes; `None` if it makes none. `read` gets an address and
/// returns the code there, up to [`LONGEST`] bytes.
pub fn attempt(
    insn: &Instruction,
    mut read: impl FnMut(u64) -> Option<Vec<u8>>,
) -> Option<Attempt> {
    if insn.mnemonic() != Mnemonic::Bts || !insn.has_lock_prefix() {
        return None;
    }
    let bit = immediate_bit(insn)?;
    let site = insn.next_ip();
    let jump = first(site, &mut read, |next| next.is_jcc_short_or_near())?;
    let (target, next) = (jump.near_branch_target(), jump.next_ip());
    let (taken, busy) = match jump.mnemonic() {
        Mnemonic::Jb => (next, target),
        Mnemonic::Jae => (target, next),
        _ => return None,
    };
    first(busy, &mut read, |next| next.mnemonic() == Mnemonic::Pause)?;
    Some(Attempt { byte: bit / 8, bit: bit % 8, site, taken, busy })
}

/// The first instruction that fits among the next [`NEAR`] instructions from an address on. The
/// search follows unconditional jumps, does not take conditional ones, and ends at a call or
/// return.
fn first(
    mut address: u64,
    read: &mut impl FnMut(u64) -> Option<Vec<u8>>,
    fits: impl Fn(&Instruction) -> bool,
) -> Option<Instruction> {
    for _ in 0..NEAR {
        let bytes = read(address)?;
        let insn = Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode();
        if fits(&insn) {
            return Some(insn);
        }
        address = match insn.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => insn.next_ip(),
            FlowControl::UnconditionalBranch => insn.near_branch_target(),
            _ => return None,
        };
    }
    None
}

/// The bit of its operand in memory that an instruction certainly clears, counted from the lowest
/// bit of the operand's first byte; `None` if it clears none, or several.
pub fn cleared(insn: &Instruction) -> Option<u8> {
    match insn.mnemonic() {
        Mnemonic::Btr => immediate_bit(insn),
        Mnemonic::And
            if insn.op0_kind() == OpKind::Memory && insn.op1_kind() != OpKind::Register =>
        {
            let bits = insn.memory_size().size() as u32 * 8;
            let zeros = !insn.immediate(1) << (64 - bits) >> (64 - bits);
            zeros.is_power_of_two().then(|| zeros.trailing_zeros() as u8)
        }
        _ => None,
    }
}

/// The bit of an operand in memory that a bit instruction names by a number.
fn immediate_bit(insn: &Instruction) -> Option<u8> {
    let is_number = insn.op0_kind() == OpKind::Memory && insn.op1_kind() == OpKind::Immediate8;
    let bits = insn.memory_size().size() as u64 * 8;
    (is_number && bits > 0).then(|| (insn.immediate(1) % bits) as u8)
}

#[cfg(test)]
mod tests;
