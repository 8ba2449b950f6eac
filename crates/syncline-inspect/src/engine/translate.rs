//! Translates a basic block of the program.
//!
//! ```text
//!   entry      the program's code is compared with what was translated: all of its bytes
//!              room in the log, the block's number, its entry's place
//!   body       each instruction as it is (operands relative to the instruction pointer are
//!              rewritten), before it what notes its addresses, where they aren't known already
//!   end        the jump, call or return is done by hand; then on to the next block
//! ```
//!
//! What is added uses two registers that the block doesn't, saved at its entry and restored at
//! its end; where it uses all, two are saved around each use. No flag is changed and no stack is
//! used, so the program's red zone is safe, and a signal's handler may run between any two
//! instructions.

use core::mem::offset_of;

use iced_x86::{
    Code, ConstantOffsets, Decoder, DecoderOptions, Encoder, FlowControl, Instruction,
    InstructionInfoFactory, MemoryOperand, Mnemonic, OpKind, Register,
};

use super::block::{Access, Address, Block, Shape};
use super::context::{Context, LOG_ROOM, spill_offset};
use super::emit::{Emitter, Memory, RAX, RCX, RSP, Reg};
use super::exits::{self, Exit};
use super::rseq::Rseq;
use super::operands::{By, Extent, Mask, Operand, Place, number, operands, store_vector};

/// Instructions of a block. A limit, since a block needs room in the log and in the cache.
const LONGEST: usize = 32;
/// The log's entry and the cache have room for so many bytes of any block.
pub const BLOCK_ROOM: u64 = 48 << 10;

/// An instruction as it is decoded.
struct Decoded {
    instruction: Instruction,
    offsets: ConstantOffsets,
    operands: Vec<Operand>,
}

/// What the engine adds to the program's code in one block.
pub struct Translator<'a> {
    /// Where code goes.
    pub emit: Emitter,
    /// What is asked of the library that knows the instructions.
    pub factory: &'a mut InstructionInfoFactory,
    /// What encodes.
    pub encoder: &'a mut Encoder,
    accesses: Vec<Access>,
    slots: u16,
    /// The register that has the entry's address, and one to work with; or none.
    free: Option<(Reg, Reg)>,
    /// What is noted after the instruction: register's or flag's value to a slot.
    after: Vec<(Option<Reg>, u16)>,
    step: u16,
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
    /// A system call.
    SystemCall,
    /// Here the program goes on by itself.
    Stop(u32),
}

impl<'a> Translator<'a> {
    /// Prepares to write at a place of a context's cache.
    pub fn new(
        emit: Emitter,
        factory: &'a mut InstructionInfoFactory,
        encoder: &'a mut Encoder,
    ) -> Translator<'a> {
        Translator {
            emit,
            factory,
            encoder,
            accesses: Vec::new(),
            slots: 0,
            free: None,
            after: Vec::new(),
            step: 0,
        }
    }

    /// Translates the block at an address of the program.
    pub fn block(&mut self, start: u64, id: u32, exits: &mut exits::Exits) -> Block {
        let (decoded, end) = self.decode(start, exits.rseq());
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
        }
        let last = decoded.last().map(|d| &d.instruction);
        self.end(&end, start + length, last, exits);
        // Now the number of slots is known.
        let size = 8 * (i32::from(self.slots) + 1);
        slot_count.set(size);
        let memory_steps = decoded.iter().filter(|d| !d.operands.is_empty()).count();
        let steps = decoded.iter().map(|d| (d.instruction.ip() - start) as u16).collect();
        Block {
            start,
            slots: u32::from(self.slots),
            host,
            steps,
            memory_steps: memory_steps as u32,
            accesses: core::mem::take(&mut self.accesses).into_boxed_slice(),
        }
    }

    fn decode(&mut self, start: u64, rseq: Rseq) -> (Vec<Decoded>, End) {
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
    fn free_registers(&mut self, decoded: &[Decoded]) -> Option<(Reg, Reg)> {
        let mut used: u16 = 1 << RSP;
        for one in decoded {
            used |= self.used_by(&one.instruction);
        }
        let mut free = (0..16).filter(|r| used >> r & 1 == 0);
        let work = free.next()?;
        Some((free.next_back()?, work))
    }

    fn used_by(&mut self, instruction: &Instruction) -> u16 {
        let registers = self.factory.info(instruction).used_registers().iter();
        let general = registers.map(|r| r.register().full_register()).filter(|r| r.is_gpr64());
        general.fold(0, |used, r| used | 1 << number(r))
    }

    fn entry(&mut self, start: u64, length: u32, id: u32, exits: &exits::Exits) -> (u64, Patch) {
        let e = &mut self.emit;
        // What to do when something is wrong: before the entry, so that its address is known.
        let stale = e.at;
        exits.leave_from_entry(e, Exit::Stale, id);
        let full = e.at;
        exits.leave_from_entry(e, Exit::Full, id);
        let entry = e.at;
        e.store_field(spill_offset(RAX), RAX);
        e.store_field(spill_offset(RCX), RCX);
        compare(e, start, length, stale);
        e.load_byte_field_to_rcx(LOG_ROOM);
        // jrcxz to the jump; over it.
        e.bytes(&[0xe3, 2, 0xeb, 5]);
        e.jump(full);
        e.load_field(RAX, offset_of!(Context, log));
        e.lea(RAX, RAX, 0);
        let lea = e.at - 4;
        e.store_field(offset_of!(Context, log), RAX);
        e.store_value(RAX, 0, id);
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

    fn slot(&mut self) -> u16 {
        self.slots += 1;
        self.slots - 1
    }

    /// Notes a value: `make` puts it into the register that it is given.
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

    /// Notes what is to be known of an operand before the instruction.
    fn note(&mut self, instruction: &Instruction, operand: &Operand) {
        let address = match operand.place {
            Place::Known(at) => Address::Known(at),
            Place::Computed(memory) => {
                let slot = self.slot();
                self.record(slot, |e, to| e.lea_memory(to, memory));
                Address::Slot(slot)
            }
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
        self.accesses.push(Access { step: self.step, read, write, in_fs, address, shape });
    }

    fn note_after(&mut self) {
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
        let is_evex = instruction.encoding() == iced_x86::EncodingKind::EVEX;
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

    fn encode(&mut self, instruction: &Instruction) -> bool {
        let done = self.encoder.encode(instruction, self.emit.at).is_ok();
        let bytes = self.encoder.take_buffer();
        if done {
            self.emit.bytes(&bytes);
        }
        done
    }

    /// Copies an instruction; an operand relative to it is made to mean the same place.
    fn copy(&mut self, start: u64, one: &Decoded) {
        let instruction = &one.instruction;
        let length = instruction.len();
        // SAFETY: it was decoded from there.
        let bytes =
            unsafe { core::slice::from_raw_parts(instruction.ip() as *const u8, length) };
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
        // Too far: through a register. One without a prefix of its own, since the instruction may
        // use a register such as ah.
        let used = self.used_by(instruction) | 1 << RSP;
        let through = match self.free {
            Some((_, work)) if work < 8 => work,
            _ => (0..8).find(|r| used >> r & 1 == 0).unwrap_or(RCX),
        };
        let is_work = self.free.is_some_and(|(_, work)| work == through);
        // The register of the log's entry may be the one that is taken: its value is put aside
        // where the program's value of another register isn't.
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

    fn restore(&mut self) {
        if let Some((log, work)) = self.free {
            self.emit.load_field(log, spill_offset(log));
            self.emit.load_field(work, spill_offset(work));
        }
    }

    /// Does what ends the block, and goes on.
    fn end(
        &mut self,
        end: &End,
        next: u64,
        last: Option<&Instruction>,
        exits: &mut exits::Exits,
    ) {
        match *end {
            End::Direct(to) => {
                self.restore();
                exits.link(&mut self.emit, to);
            }
            End::Conditional(to) => {
                self.restore();
                let Some(last) = last else { return };
                self.branch(last);
                // Not taken: the five bytes of a jump, over which the branch jumps.
                let over = self.emit.at;
                self.emit.jump(over);
                exits.link(&mut self.emit, to);
                let not_taken = self.emit.at;
                let mut patch = Emitter { at: over, ..self.emit };
                patch.jump(not_taken);
                exits.link(&mut self.emit, next);
            }
            End::Call(to) => {
                self.push_return(next);
                self.restore();
                exits.link(&mut self.emit, to);
            }
            End::Indirect(back) => {
                let Some(last) = last else { return };
                self.load_target(last);
                if let Some(back) = back {
                    self.push_return(back);
                }
                self.restore();
                exits.look_up(&mut self.emit);
            }
            End::Return(more) => {
                self.with_work(|e, work| {
                    e.load(work, RSP, 0);
                    e.store_field(offset_of!(Context, target), work);
                });
                self.emit.lea(RSP, RSP, 8 + i32::from(more));
                self.restore();
                exits.look_up(&mut self.emit);
            }
            End::SystemCall => {
                let Some(last) = last else { return };
                self.restore();
                exits.system_call(&mut self.emit, last.ip(), last.next_ip());
            }
            End::Stop(why) => {
                self.restore();
                exits.stop(&mut self.emit, next, why);
            }
        }
    }

    /// Runs `make` with a register that may be used.
    fn with_work(&mut self, make: impl FnOnce(&mut Emitter, Reg)) {
        match self.free {
            Some((_, work)) => make(&mut self.emit, work),
            None => {
                self.emit.store_field(spill_offset(RAX), RAX);
                make(&mut self.emit, RAX);
                self.emit.load_field(RAX, spill_offset(RAX));
            }
        }
    }

    fn push_return(&mut self, back: u64) {
        self.with_work(|e, work| {
            e.set(work, back);
            e.push(work);
        });
    }

    /// Stores where an indirect jump or call goes.
    fn load_target(&mut self, last: &Instruction) {
        let in_fs = last.memory_segment() == Register::FS;
        let place = match last.op0_kind() {
            OpKind::Register => None,
            _ if last.is_ip_rel_memory_operand() => {
                Some(Err(last.ip_rel_memory_address()))
            }
            _ => {
                let used = |r: Register| (r != Register::None).then(|| number(r));
                let index = used(last.memory_index()).map(|r| (r, last.memory_index_scale()));
                let displacement = last.memory_displacement64() as i32;
                Some(Ok(Memory { base: used(last.memory_base()), index, displacement }))
            }
        };
        let register = last.op0_register();
        self.with_work(|e, work| {
            match place {
                None => e.copy(work, number(register.full_register())),
                Some(Err(known)) => {
                    e.set(work, known);
                    e.load(work, work, 0);
                }
                Some(Ok(memory)) => e.load_memory(work, memory, in_fs),
            }
            e.store_field(offset_of!(Context, target), work);
        });
    }

    /// The jump of a conditional branch, over five bytes if it is taken... which are a jump to
    /// where it goes on if it is not.
    fn branch(&mut self, last: &Instruction) {
        // SAFETY: it was decoded from there.
        let bytes =
            unsafe { core::slice::from_raw_parts(last.ip() as *const u8, last.len()) };
        if last.is_jcc_near() {
            let condition = bytes[bytes.len() - 5] & 0xf;
            self.emit.bytes(&[0x70 | condition, 5]);
        } else {
            let (prefixes, rest) = bytes.split_at(bytes.len() - 2);
            if prefixes.contains(&0x67) {
                self.emit.bytes(&[0x67]);
            }
            self.emit.bytes(&[rest[0], 5]);
        }
    }
}

fn is_jump(one: &Decoded) -> bool {
    one.instruction.flow_control() == FlowControl::UnconditionalBranch
}

/// Where the entry's size is to be put when it is known.
struct Patch {
    lea: u64,
    number: u64,
}

impl Patch {
    fn set(&self, size: i32) {
        let write = |at: u64, value: i32| {
            // SAFETY: places in code that was just written.
            unsafe { (at as *mut i32).write_unaligned(value) };
        };
        write(self.lea, -size);
        write(self.number, size - 8);
    }
}

/// Compares the program's code with what it is now; rax and rcx are saved.
fn compare(e: &mut Emitter, start: u64, length: u32, stale: u64) {
    let mut done = 0;
    while done < length {
        let left = length - done;
        // The last piece overlaps the one before, if there is one.
        let size = if left >= 8 { 8 } else { 1 << left.ilog2() };
        let size = if done >= 8 { 8 } else { size };
        let at = if done + size > length { length - size } else { done };
        let from = start + u64::from(at);
        // SAFETY: code that was decoded.
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

/// How an instruction ends its block, if it does.
fn end_of(instruction: &Instruction) -> Option<End> {
    let next = instruction.next_ip();
    match instruction.mnemonic() {
        Mnemonic::Syscall => return Some(End::SystemCall),
        // Privileged, or with effects on control that are not followed.
        Mnemonic::Xbegin | Mnemonic::Xend | Mnemonic::Xabort | Mnemonic::Sysenter
        | Mnemonic::Wrpkru | Mnemonic::Xrstors | Mnemonic::Xsaves => {
            return Some(End::Stop(exits::UNKNOWN));
        }
        _ => {}
    }
    Some(match instruction.flow_control() {
        FlowControl::Next => return None,
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => {
            End::Direct(instruction.near_branch_target())
        }
        FlowControl::ConditionalBranch => {
            End::Conditional(instruction.near_branch_target())
        }
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
