//! Writes code that notes the addresses, masks and other values of operands in the slots of the
//! block's log entry.

use core::mem::offset_of;

use iced_x86::{EncodingKind, FlowControl, Instruction, MemoryOperand, Mnemonic, Register};

use super::Translator;
use crate::engine::address_set::How;
use crate::engine::block::{Access, Address, Shape};
use crate::engine::context::{Context, spill_offset};
use crate::engine::emit::{Emitter, Memory, RAX, RCX, Reg};
use crate::engine::operands::{By, Extent, Mask, Operand, Place, store_vector};

impl Translator<'_> {
    fn slot(&mut self) -> u16 {
        self.slots += 1;
        self.slots - 1
    }

    /// Writes code that notes a value in a slot. `make` writes the part that puts the value into
    /// the given register.
    fn record(&mut self, slot: u16, make: impl FnOnce(&mut Emitter, Reg)) {
        let at = i32::from(slot) * 8;
        let e = &mut self.emit;
        if let Some((log, work)) = self.free {
            make(e, work);
            e.store(log, at, work);
            return;
        }
        e.store_field(spill_offset(RAX), RAX);
        e.store_field(spill_offset(RCX), RCX);
        make(e, RAX);
        e.load_field(RCX, offset_of!(Context, log));
        e.store(RCX, at, RAX);
        e.load_field(RCX, spill_offset(RCX));
        e.load_field(RAX, spill_offset(RAX));
    }

    /// Returns where the address is found, and writes code that notes it if necessary. That is not
    /// necessary if an address with the same registers was noted since they last changed: the two
    /// differ by a constant.
    fn address(&mut self, memory: Memory) -> Address {
        let alike = self.noted.iter().find_map(|(noted, slot)| {
            let same = (noted.base, noted.index) == (memory.base, memory.index);
            let plus = memory.displacement.checked_sub(noted.displacement)?;
            same.then_some(Address::Slot(*slot, plus))
        });
        alike.unwrap_or_else(|| {
            let slot = self.slot();
            self.record(slot, |e, to| e.lea_memory(to, memory));
            self.noted.push((memory, slot));
            Address::Slot(slot, 0)
        })
    }

    /// Forgets the noted addresses that depend on a register which the instruction changes.
    pub fn forget(&mut self, instruction: &Instruction) {
        let changed = self.changed_by(instruction);
        let hangs = |r: Reg| changed >> r & 1 != 0;
        self.noted.retain(|(noted, _)| {
            !noted.base.is_some_and(hangs) && !noted.index.is_some_and(|(r, _)| hangs(r))
        });
    }

    /// Writes code that notes those values of an operand that must be read before the instruction.
    pub fn note(&mut self, instruction: &Instruction, operand: &Operand) {
        let address = match operand.place {
            Place::Known(at) => Address::Known(at),
            Place::Computed(memory) => self.address(memory),
        };
        let shape = match operand.extent {
            Extent::Plain(size) => Shape::Plain(size),
            Extent::String(register, size) => {
                let after = self.slot();
                self.after.push((Some(register), after));
                Shape::String { after, size }
            }
            Extent::Exchange(size) => {
                let zero = self.slot();
                self.after.push((None, zero));
                Shape::Exchange { zero, size }
            }
            Extent::Bit(register, size) => {
                let number = self.slot();
                self.record(number, |e, to| e.copy(to, register));
                Shape::Bit { number, size }
            }
            Extent::Masked(mask, by) => {
                let mask = self.mask(mask);
                match by {
                    By::Elements(size, count) => Shape::Elements { mask, size, count },
                    By::Packed(size, count) => Shape::Packed { mask, size, count },
                    By::IfAny(size, count) => Shape::IfAny { mask, count, size },
                }
            }
            Extent::Gather { mask, indices, index_size, scale, size, count } => {
                let mask = self.mask(mask);
                let indices = self.indices(instruction, indices);
                Shape::Gather { mask, indices, index_size, scale, size, count }
            }
        };
        let Operand { read, write, in_fs, .. } = *operand;
        // `xchg` with memory is atomic without a lock prefix.
        let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
        let flow = instruction.flow_control();
        let jump = matches!(flow, FlowControl::IndirectBranch | FlowControl::IndirectCall);
        let step = self.step;
        let (by, how) = (instruction.ip(), How::new(read, write, atomic, jump));
        self.accesses.push(Access { step, by, how, in_fs, address, shape });
    }

    /// Writes code that notes those values that must be read after the instruction.
    pub fn note_after(&mut self) {
        for (register, slot) in core::mem::take(&mut self.after) {
            self.record(slot, |e, to| match register {
                Some(register) => e.copy(to, register),
                None => e.set_if_zero(to),
            });
        }
    }

    fn mask(&mut self, mask: Mask) -> u16 {
        let slot = self.slot();
        self.record(slot, |e, to| match mask {
            Mask::Register(k) => e.load_mask(to, k),
            Mask::Signs(vector, element, is_256) => e.load_signs(to, vector, element, is_256),
            Mask::ByteSigns(vector, is_mmx) => e.load_byte_signs(to, vector, is_mmx),
        });
        slot
    }

    fn indices(&mut self, instruction: &Instruction, indices: Register) -> u16 {
        let first = self.slots;
        self.slots += (indices.size() / 8) as u16;
        let is_evex = instruction.encoding() == EncodingKind::EVEX;
        let code = store_vector(indices, is_evex);
        let at = i64::from(first) * 8;
        let base = match self.free {
            Some((log, _)) => log,
            None => {
                self.emit.store_field(spill_offset(RCX), RCX);
                self.emit.load_field(RCX, offset_of!(Context, log));
                RCX
            }
        };
        let base_register = Register::RAX + u32::from(base);
        let to = MemoryOperand::with_base_displ_size(base_register, at, 1);
        if let Ok(store) = Instruction::with2(code, to, indices) {
            self.encode(&store);
        }
        if self.free.is_none() {
            self.emit.load_field(RCX, spill_offset(RCX));
        }
        first
    }
}
