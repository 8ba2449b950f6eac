//! Copies instructions into the cache.

use iced_x86::{Instruction, Register};

use super::Translator;
use super::decoded::Decoded;
use crate::engine::context::spill_offset;
use crate::engine::emit::{RCX, RSP};

impl Translator<'_> {
    /// Encodes an instruction and writes it into the cache; returns false if it can't be encoded.
    pub fn encode(&mut self, instruction: &Instruction) -> bool {
        let done = self.encoder.encode(instruction, self.emit.at).is_ok();
        let bytes = self.encoder.take_buffer();
        if done {
            self.emit.bytes(&bytes);
        }
        done
    }

    /// Copies an instruction. If an operand is relative to the instruction pointer, it is adjusted
    /// to refer to the same address as before.
    pub fn copy(&mut self, start: u64, one: &Decoded) {
        let instruction = &one.instruction;
        let length = instruction.len();
        // SAFETY: the instruction was decoded from these bytes.
        let bytes = unsafe { core::slice::from_raw_parts(instruction.ip() as *const u8, length) };
        debug_assert!(instruction.ip() >= start);
        if !instruction.is_ip_rel_memory_operand() {
            self.emit.bytes(bytes);
            return;
        }
        let target = instruction.ip_rel_memory_address();
        let distance = target.wrapping_sub(self.emit.at + length as u64) as i64;
        if let Ok(near) = i32::try_from(distance) {
            let mut copy = [0; 15];
            copy[..length].copy_from_slice(bytes);
            let at = one.offsets.displacement_offset();
            copy[at..at + 4].copy_from_slice(&near.to_le_bytes());
            self.emit.bytes(&copy[..length]);
            return;
        }
        // The distance does not fit into 32 bits, so the address is put into a register. This must
        // be a register that is encoded without a REX prefix, since the instruction may use a
        // register such as ah, which can't be encoded with one.
        let used = self.used_by(instruction) | 1 << RSP;
        let through = match self.free {
            Some((_, work)) if work < 8 => work,
            _ => (0..8).find(|r| used >> r & 1 == 0).unwrap_or(RCX),
        };
        let is_work = self.free.is_some_and(|(_, work)| work == through);
        // If this register holds the address of the log entry, its own slot already holds the
        // program's value. So its value is saved in the slot of rsp, which is not used otherwise.
        let aside = spill_offset(RSP);
        if !is_work {
            self.emit.store_field(aside, through);
        }
        self.emit.set(through, target);
        let mut far = *instruction;
        far.set_memory_base(Register::RAX + u32::from(through));
        far.set_memory_displacement64(0);
        far.set_memory_displ_size(u32::from(through == 5));
        self.encode(&far);
        if !is_work {
            self.emit.load_field(through, aside);
        }
    }
}
