//! Reads the instructions of a block.

use iced_x86::{
    Code, ConstantOffsets, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpAccess,
    UsedRegister,
};

use super::Translator;
use crate::engine::emit::{RSP, Reg};
use crate::engine::exits;
use crate::engine::operands::{Operand, number, operands};
use crate::engine::rseq::Rseq;

/// Instructions of a block. A limit, since a block needs room in the log and in the cache.
const LONGEST: usize = 32;

/// An instruction as it is decoded.
pub struct Decoded {
    /// The instruction.
    pub instruction: Instruction,
    /// Where its parts are in its bytes.
    pub offsets: ConstantOffsets,
    /// Its operands in memory.
    pub operands: Vec<Operand>,
}

/// How a block ends.
pub enum End {
    /// Goes on at an address: a jump, or the block is long enough.
    Direct(u64),
    /// A conditional jump.
    Conditional(u64),
    /// Calls an address.
    Call(u64),
    /// Jumps, or calls with an address to return to, to where an operand says.
    Indirect(Option<u64>),
    /// Returns, and takes so many bytes more from the stack.
    Return(u16),
    /// Goes on as if a transaction had been given up at its begin.
    Abort(u64),
    /// A system call.
    SystemCall,
    /// Here the program goes on by itself.
    Stop(u32),
}

impl Translator<'_> {
    /// The instructions from an address of the program to the end of their block.
    pub fn decode(&mut self, start: u64, rseq: Rseq) -> (Vec<Decoded>, End) {
        /// The longest instruction.
        const LONGEST_INSTRUCTION: usize = 15;
        // SAFETY: the program is about to execute this. The decoder reads no byte behind the
        // last instruction that it is asked for.
        let code = unsafe {
            core::slice::from_raw_parts(start as *const u8, LONGEST * LONGEST_INSTRUCTION)
        };
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut all = Vec::new();
        loop {
            if all.len() == LONGEST {
                return (all, End::Direct(decoder.ip()));
            }
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return (all, End::Stop(exits::UNKNOWN));
            }
            let Ok(operands) = operands(self.factory, &instruction) else {
                return (all, End::Stop(exits::UNKNOWN));
            };
            if rseq.begins(&instruction, &operands) {
                return (all, End::Stop(exits::UNKNOWN));
            }
            let end = match end_of(&instruction) {
                Some(End::Stop(why)) => return (all, End::Stop(why)),
                end => end,
            };
            let offsets = decoder.get_constant_offsets(&instruction);
            all.push(Decoded { instruction, offsets, operands });
            if let Some(end) = end {
                return (all, end);
            }
        }
    }

    /// Two registers that no instruction of the block uses.
    pub fn free_registers(&mut self, decoded: &[Decoded]) -> Option<(Reg, Reg)> {
        let mut used: u16 = 1 << RSP;
        for one in decoded {
            used |= self.used_by(&one.instruction);
        }
        let mut free = (0..16).filter(|r| used >> r & 1 == 0);
        let work = free.next()?;
        Some((free.next_back()?, work))
    }

    /// The general registers that an instruction uses, a bit each.
    pub fn used_by(&mut self, instruction: &Instruction) -> u16 {
        let registers = self.factory.info(instruction).used_registers().iter();
        let general = registers.map(|r| r.register().full_register()).filter(|r| r.is_gpr64());
        general.fold(0, |used, r| used | 1 << number(r))
    }

    /// The general registers that an instruction may change, a bit each.
    pub fn changed_by(&mut self, instruction: &Instruction) -> u16 {
        let only_read = |r: &&UsedRegister| {
            matches!(r.access(), OpAccess::None | OpAccess::Read | OpAccess::CondRead)
        };
        let registers = self.factory.info(instruction).used_registers().iter();
        let changed = registers.filter(|r| !only_read(r)).map(|r| r.register().full_register());
        changed.filter(|r| r.is_gpr64()).fold(0, |all, r| all | 1 << number(r))
    }
}

/// Whether it only jumps: then it isn't copied.
pub fn is_jump(one: &Decoded) -> bool {
    one.instruction.flow_control() == FlowControl::UnconditionalBranch
}

/// How an instruction ends its block, if it does.
fn end_of(instruction: &Instruction) -> Option<End> {
    let next = instruction.next_ip();
    match instruction.mnemonic() {
        Mnemonic::Syscall => return Some(End::SystemCall),
        // Any transaction may be given up, and what would be noted of one would be gone with it.
        Mnemonic::Xbegin => return Some(End::Abort(instruction.near_branch_target())),
        // Privileged, or with effects on control that are not followed.
        Mnemonic::Xend
        | Mnemonic::Xabort
        | Mnemonic::Sysenter
        | Mnemonic::Wrpkru
        | Mnemonic::Wrfsbase
        | Mnemonic::Wrgsbase
        | Mnemonic::Xrstors
        | Mnemonic::Xsaves => {
            return Some(End::Stop(exits::UNKNOWN));
        }
        _ => {}
    }
    Some(match instruction.flow_control() {
        FlowControl::Next => return None,
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => {
            End::Direct(instruction.near_branch_target())
        }
        FlowControl::ConditionalBranch => End::Conditional(instruction.near_branch_target()),
        FlowControl::Call if instruction.is_call_near() => {
            End::Call(instruction.near_branch_target())
        }
        FlowControl::IndirectBranch if instruction.is_jmp_near_indirect() => End::Indirect(None),
        FlowControl::IndirectCall if instruction.is_call_near_indirect() => {
            End::Indirect(Some(next))
        }
        FlowControl::Return if matches!(instruction.code(), Code::Retnq | Code::Retnq_imm16) => {
            let more = if instruction.op_count() > 0 { instruction.immediate16() } else { 0 };
            End::Return(more)
        }
        _ => End::Stop(exits::UNKNOWN),
    })
}
