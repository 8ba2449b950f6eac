//! An instruction of a block, and how a block ends.

use iced_x86::{Code, ConstantOffsets, FlowControl, Instruction, Mnemonic};

use crate::engine::exits;
use crate::engine::operands::Operand;

/// A decoded instruction.
pub struct Decoded {
    /// The instruction.
    pub instruction: Instruction,
    /// Where its constants lie in its bytes.
    pub offsets: ConstantOffsets,
    /// Its operands in memory.
    pub operands: Vec<Operand>,
}

/// How a block ends, and so where the program continues.
pub enum End {
    /// Continues at this address: the block ends with a direct jump, or was cut because it is long.
    Direct(u64),
    /// Jumps to this address under a condition; otherwise continues after the block.
    Conditional(u64),
    /// Calls the function at this address.
    Call(u64),
    /// Jumps to an address that an operand has, or calls it. For a call, this is the address to
    /// return to; `None` for a jump.
    Indirect(Option<u64>),
    /// Returns, and removes this many more bytes from the stack.
    Return(u16),
    /// Begins a transaction. Continues at this address, as if the transaction had been aborted at
    /// once.
    Abort(u64),
    /// A system call.
    SystemCall,
    /// Tracing stops for this reason, and the program continues natively.
    Stop(u32),
}

/// Whether an instruction is an unconditional jump. Then it isn't copied into the cache.
pub fn is_jump(one: &Decoded) -> bool {
    one.instruction.flow_control() == FlowControl::UnconditionalBranch
}

/// How an instruction ends its block; `None` if it does not.
pub fn end_of(instruction: &Instruction) -> Option<End> {
    let next = instruction.next_ip();
    match instruction.mnemonic() {
        Mnemonic::Syscall => return Some(End::SystemCall),
        // No transaction is run, because what was logged in one would be lost if it was aborted. A
        // program must expect that any transaction is aborted.
        Mnemonic::Xbegin => return Some(End::Abort(instruction.near_branch_target())),
        // At these instructions tracing stops: the ends of transactions, `sysenter`, privileged
        // instructions, and those that change what an access means (protection keys, the bases of
        // FS and GS).
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
