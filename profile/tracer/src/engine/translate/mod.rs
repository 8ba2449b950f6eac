//! Translates a basic block of the program.
//!
//! ```text
//!   entry      compares all bytes of the program's code with those that were translated, unless
//!              they are known to be equal (code.rs); checks that the log has room; makes a log
//!              entry with the block's number
//!   body       for each instruction, code that notes its addresses if they aren't known, then the
//!              instruction itself (operands relative to the instruction pointer are rewritten)
//!   end        does what the jump, call or return does, and continues in the next block
//! ```
//!
//! Added code uses two registers that the block does not use. They are saved at its entry and
//! restored at its end. If there are not two such registers, others are saved and restored around
//! each use. Added code changes no flag and uses no stack. So the program's red zone (the bytes
//! below the stack pointer that a function may use) is safe, and a signal handler may run between
//! any two instructions.

mod copy;
mod decode;
mod decoded;
mod ends;
mod leave;
mod notes;

use core::mem::offset_of;

use iced_x86::{Encoder, InstructionInfoFactory};

use super::block::{Access, Block, Shape};
use super::context::{Context, LOG_ROOM, spill_offset, unsure_offset};
use super::emit::{Emitter, Memory, RAX, RCX, Reg};
use super::exits::{self, Exit};
use super::replay::entry_number;
use super::rseq::Rseq;
use decoded::{End, is_jump};

/// The most bytes that a block takes, in the cache and in the log.
pub const BLOCK_ROOM: u64 = 48 << 10;

/// Translates one block.
pub struct Translator<'a> {
    /// Where code is written.
    pub emit: Emitter,
    /// Whether the program's code can't be written to, so that it need not be compared at every
    /// entry.
    steady: bool,
    /// Recognises restartable sequences.
    rseq: Rseq,
    /// Tells which memory and which registers an instruction uses.
    pub factory: &'a mut InstructionInfoFactory,
    /// Encodes instructions.
    pub encoder: &'a mut Encoder,
    accesses: Vec<Access>,
    slots: u16,
    /// The register with the log entry's address, and one to work with; `None` if the block leaves
    /// no two registers unused.
    free: Option<(Reg, Reg)>,
    /// Addresses that have been noted, and the slots with their values. An address is removed when
    /// a register on which it depends changes.
    noted: Vec<(Memory, u16)>,
    /// Values to note after the instruction, and the slots for them. A value is that of a register,
    /// or of the zero flag if `None`.
    after: Vec<(Option<Reg>, u16)>,
    step: u16,
}

impl<'a> Translator<'a> {
    /// Prepares to write translated code at the emitter's position in a context's cache.
    pub fn new(
        emit: Emitter,
        steady: bool,
        rseq: Rseq,
        factory: &'a mut InstructionInfoFactory,
        encoder: &'a mut Encoder,
    ) -> Translator<'a> {
        Translator {
            emit,
            steady,
            rseq,
            factory,
            encoder,
            accesses: Vec::new(),
            slots: 0,
            free: None,
            noted: Vec::new(),
            after: Vec::new(),
            step: 0,
        }
    }

    /// Translates the block that starts at this address of the program; `id` is the block's number.
    pub fn block(&mut self, start: u64, id: u32, exits: &mut exits::Exits) -> Block {
        let (decoded, end) = self.decode(start);
        let length = decoded.last().map_or(0, |d| d.instruction.next_ip() - start);
        self.free = self.free_registers(&decoded);
        let (host, slot_count) = self.entry(start, length as u32, id, exits);
        for (step, one) in decoded.iter().enumerate() {
            self.step = step as u16;
            let is_last = step + 1 == decoded.len();
            one.operands.iter().for_each(|operand| self.note(&one.instruction, operand));
            let by_hand = !matches!(end, End::Direct(_) | End::Stop(_)) || is_jump(one);
            if !(is_last && by_hand) {
                self.copy(start, one);
            }
            self.note_after();
            self.forget(&one.instruction);
        }
        let last = decoded.last().map(|d| &d.instruction);
        self.end(&end, start + length, last, exits);
        // Only now is the number of slots known, which the entry's code needs.
        let size = 8 * (i32::from(self.slots) + 1);
        slot_count.set(size, entry_number(id, self.slots));
        let memory_steps = decoded.iter().filter(|d| !d.operands.is_empty()).count();
        let steps = decoded.iter().map(|d| (d.instruction.ip() - start) as u16).collect();
        let accesses = core::mem::take(&mut self.accesses).into_boxed_slice();
        Block {
            start,
            host,
            steps,
            memory_steps: memory_steps as u32,
            is_plain: accesses.iter().all(|access| matches!(access.shape, Shape::Plain(_))),
            accesses,
        }
    }

    fn entry(&mut self, start: u64, length: u32, id: u32, exits: &exits::Exits) -> (u64, Patch) {
        let e = &mut self.emit;
        // The exits that the entry's checks jump to are written first, so that their addresses are
        // known.
        let stale = e.at;
        exits.leave_from_entry(e, Exit::Stale, id);
        let full = e.at;
        exits.leave_from_entry(e, Exit::Full, id);
        let unsure = e.at;
        let mut known = None;
        if self.steady {
            compare(e, start, length, stale);
            e.clear_byte_field(unsure_offset(id));
            known = Some(e.at);
            e.jump(e.at); // patched below to lead to the rest of the entry
        }
        let entry = e.at;
        e.store_field(spill_offset(RAX), RAX);
        e.store_field(spill_offset(RCX), RCX);
        match known {
            None => compare(e, start, length, stale),
            Some(known) => {
                e.load_byte_field_to_rcx(unsure_offset(id));
                e.jump_unless_rcx_zero(unsure);
                Emitter { at: known, ..*e }.jump(e.at);
            }
        }
        e.load_byte_field_to_rcx(LOG_ROOM);
        // If rcx is 0, the jrcxz skips the short jump, so the jump to `full` is executed. Otherwise
        // the short jump skips the jump to `full`.
        e.bytes(&[0xe3, 2, 0xeb, 5]);
        e.jump(full);
        e.load_field(RAX, offset_of!(Context, log));
        e.lea(RAX, RAX, 0);
        let lea = e.at - 4;
        e.store_field(offset_of!(Context, log), RAX);
        e.store_value(RAX, 0, 0);
        let number = e.at - 8;
        let (log, work) = self.free.unwrap_or((RCX, RCX));
        if self.free.is_some() {
            if log != RAX && log != RCX {
                e.store_field(spill_offset(log), log);
            }
            if work != RAX && work != RCX {
                e.store_field(spill_offset(work), work);
            }
            if log != RAX {
                e.copy(log, RAX);
            }
        }
        let keeps = |r: Reg| self.free.is_some() && (log == r || work == r);
        if !keeps(RAX) {
            e.load_field(RAX, spill_offset(RAX));
        }
        if !keeps(RCX) {
            e.load_field(RCX, spill_offset(RCX));
        }
        (entry, Patch { lea, number })
    }
}

/// The addresses in the translated code at which the log entry's size and number have to be filled
/// in.
struct Patch {
    lea: u64,
    number: u64,
}

impl Patch {
    fn set(&self, size: i32, number: u32) {
        let write = |at: u64, value: i32| {
            // SAFETY: the addresses are in code that was just written.
            unsafe { (at as *mut i32).write_unaligned(value) };
        };
        write(self.lea, -size);
        write(self.number, size - 8);
        write(self.number + 4, number as i32);
    }
}

/// Writes code that jumps to `stale` if the program's code has changed since its translation. The
/// written code changes rax and rcx, which must have been saved.
fn compare(e: &mut Emitter, start: u64, length: u32, stale: u64) {
    let mut done = 0;
    while done < length {
        let left = length - done;
        // Compared in pieces of 8, 4, 2 or 1 bytes; the last piece may overlap the one before it.
        let size = if left >= 8 { 8 } else { 1 << left.ilog2() };
        let size = if done >= 8 { 8 } else { size };
        let at = if done + size > length { length - size } else { done };
        let from = start + u64::from(at);
        // SAFETY: these bytes were decoded, so they can be read.
        let now = unsafe {
            let mut bytes = [0; 8];
            let count = size as usize;
            core::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), count);
            u64::from_le_bytes(bytes)
        };
        e.set(RAX, from);
        e.load_rax_small(size, 0);
        e.set(RCX, !now);
        e.difference_to_rcx();
        e.jump_unless_rcx_zero(stale);
        done = at + size;
    }
}
