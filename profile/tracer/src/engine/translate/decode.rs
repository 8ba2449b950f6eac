//! Reads the instructions of a block.

use iced_x86::{Decoder, DecoderOptions, Instruction, OpAccess, UsedRegister};

use super::Translator;
use super::decoded::{Decoded, End, end_of};
use crate::engine::emit::{RSP, Reg};
use crate::engine::exits;
use crate::engine::operands::{number, operands};

/// The most instructions of a block. There must be a limit because a block has to fit into the room
/// that is kept for it in the log and in the cache.
const LONGEST: usize = 32;

impl Translator<'_> {
    /// The instructions of the block that starts at this address of the program, and how the block
    /// ends.
    pub fn decode(&mut self, start: u64) -> (Vec<Decoded>, End) {
        /// The bytes of the longest instruction that there is.
        const LONGEST_INSTRUCTION: usize = 15;
        // SAFETY: the program is about to execute these instructions, so they can be read. The
        // decoder reads no byte after the last instruction that it decodes.
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
            if self.rseq.begins(&instruction, &operands) {
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

    /// Two registers that no instruction of the block uses. The first is for the address of the log
    /// entry, the second is to work with. `None` if fewer than two are unused.
    pub fn free_registers(&mut self, decoded: &[Decoded]) -> Option<(Reg, Reg)> {
        let mut used: u16 = 1 << RSP;
        for one in decoded {
            used |= self.used_by(&one.instruction);
        }
        let mut free = (0..16).filter(|r| used >> r & 1 == 0);
        let work = free.next()?;
        Some((free.next_back()?, work))
    }

    /// The general-purpose registers that an instruction reads or writes, a bit each.
    pub fn used_by(&mut self, instruction: &Instruction) -> u16 {
        let registers = self.factory.info(instruction).used_registers().iter();
        let general = registers.map(|r| r.register().full_register()).filter(|r| r.is_gpr64());
        general.fold(0, |used, r| used | 1 << number(r))
    }

    /// The general-purpose registers that an instruction may change, a bit each.
    pub fn changed_by(&mut self, instruction: &Instruction) -> u16 {
        let only_read = |r: &&UsedRegister| {
            matches!(r.access(), OpAccess::None | OpAccess::Read | OpAccess::CondRead)
        };
        let registers = self.factory.info(instruction).used_registers().iter();
        let changed = registers.filter(|r| !only_read(r)).map(|r| r.register().full_register());
        changed.filter(|r| r.is_gpr64()).fold(0, |all, r| all | 1 << number(r))
    }
}
