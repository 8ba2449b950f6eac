//! Translates the end of a block: other instructions take the place of its jump, call or return.

use core::mem::offset_of;

use iced_x86::{Instruction, OpKind, Register};

use super::Translator;
use super::decoded::End;
use crate::engine::context::{Context, spill_offset};
use crate::engine::emit::{Emitter, Memory, RAX, RSP, Reg};
use crate::engine::exits;
use crate::engine::operands::number;

impl Translator<'_> {
    fn restore(&mut self) {
        if let Some((log, work)) = self.free {
            self.emit.load_field(log, spill_offset(log));
            self.emit.load_field(work, spill_offset(work));
        }
    }

    /// Writes code that does what the block's last instruction does and continues at its target.
    /// `next` is the address after the block.
    pub fn end(
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
                // The branch is followed by a jump of five bytes to the code for a branch that is
                // not taken. A taken branch skips this jump.
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
            End::Abort(to) => {
                /// The abort status has no bit set, not even the one for "may succeed on a retry",
                /// so the program won't retry.
                const STATUS: u64 = 0;
                self.restore();
                self.emit.set(RAX, STATUS);
                exits.link(&mut self.emit, to);
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

    /// Calls `make` with a register that the code written by `make` may change.
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

    /// Writes code that stores the target of the indirect jump or call `last` in the context.
    fn load_target(&mut self, last: &Instruction) {
        let in_fs = last.memory_segment() == Register::FS;
        let place = match last.op0_kind() {
            OpKind::Register => None,
            _ if last.is_ip_rel_memory_operand() => Some(Err(last.ip_rel_memory_address())),
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

    /// Writes a conditional branch with the condition of `last`. If taken, it skips the next five
    /// bytes, which the caller fills with a jump.
    fn branch(&mut self, last: &Instruction) {
        // SAFETY: the instruction was decoded from these bytes.
        let bytes = unsafe { core::slice::from_raw_parts(last.ip() as *const u8, last.len()) };
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
