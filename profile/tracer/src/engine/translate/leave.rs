//! Writes the exits of translated code: into another block, into the engine, and into the program.

use core::mem::offset_of;

use crate::engine::context::{Context, SUSPENDED, TABLE_OFFSET, TRACING, spill_offset};
use crate::engine::emit::{Emitter, RAX, RCX, RDX, RSP};
use crate::engine::exits::{Exit, Exits, Link, Site};

impl Exits {
    /// Writes the code that all exits share, at the start of the cache.
    pub fn begin(&mut self, e: &mut Emitter) {
        self.links.clear();
        self.sites.clear();
        self.stops.clear();
        self.common = e.at;
        const RDI: u8 = 7;
        e.store_field(offset_of!(Context, registers) + usize::from(RDI) * 8, RDI);
        e.address_of_field(RDI, 0);
        e.jump_field(offset_of!(Context, entry));
        self.resume = e.at;
        e.set_field(offset_of!(Context, state), TRACING as u32);
        self.look_up(e);
    }

    /// Writes code that jumps to an interposed function of this library, which the program has
    /// called. The function runs natively. Its return address is replaced by the address of code
    /// that resumes tracing.
    pub fn call_library(&self, e: &mut Emitter, function: u64) {
        e.store_field(spill_offset(RAX), RAX);
        e.load(RAX, RSP, 0);
        e.store_field(offset_of!(Context, target), RAX);
        e.set(RAX, self.resume);
        e.store(RSP, 0, RAX);
        e.load_field(RAX, spill_offset(RAX));
        e.store_field(offset_of!(Context, suspended_at), RSP);
        e.set_field(offset_of!(Context, state), SUSPENDED as u32);
        e.jump_far(function);
    }

    /// Writes an exit into the engine, for a place at which all registers have the program's
    /// values.
    fn leave(&self, e: &mut Emitter, exit: Exit, argument: u32) {
        e.set_field(offset_of!(Context, exit), exit as u32);
        e.set_field(offset_of!(Context, argument), argument);
        e.jump(self.common);
    }

    /// Like [`Exits::leave`], but for a block's entry, where rax and rcx have to be restored first.
    pub fn leave_from_entry(&self, e: &mut Emitter, exit: Exit, argument: u32) {
        e.load_field(RAX, spill_offset(RAX));
        e.load_field(RCX, spill_offset(RCX));
        self.leave(e, exit, argument);
    }

    /// Writes the way to `target`, an address of the program that is known at translation. At first
    /// it leads into the engine, which later links it directly to the target's block.
    pub fn link(&mut self, e: &mut Emitter, target: u64) {
        let at = e.at;
        e.jump(at + 5); // to the code that follows, until the engine links it
        self.leave(e, Exit::Link, self.links.len() as u32);
        self.links.push(Link { at, target });
    }

    /// Writes the way to the program's address in [`Context::target`], through the context's table
    /// of translated blocks.
    pub fn look_up(&self, e: &mut Emitter) {
        e.store_field(spill_offset(RAX), RAX);
        e.store_field(spill_offset(RCX), RCX);
        e.store_field(spill_offset(RDX), RDX);
        e.load_field(RAX, offset_of!(Context, target));
        e.low_half_to_rcx();
        e.address_of_field(RDX, TABLE_OFFSET);
        e.add_16_rcx_to_rdx();
        e.load(RCX, RDX, 0);
        e.complement_rcx();
        e.difference_to_rcx();
        // A jrcxz that skips the exit into the engine if the table's entry is the one looked for.
        // The exit's length is patched in below.
        e.bytes(&[0xe3, 0]);
        let from = e.at;
        e.load_field(RDX, spill_offset(RDX));
        self.leave_from_entry(e, Exit::LookUp, 0);
        let distance = (e.at - from) as u8;
        Emitter { at: from - 1, ..*e }.bytes(&[distance]);
        e.load(RDX, RDX, 8);
        e.store_field(offset_of!(Context, jump), RDX);
        e.load_field(RDX, spill_offset(RDX));
        e.load_field(RCX, spill_offset(RCX));
        e.load_field(RAX, spill_offset(RAX));
        e.jump_field(offset_of!(Context, jump));
    }

    /// Writes a system call, with an exit into the engine before and after it.
    pub fn system_call(&mut self, e: &mut Emitter, instruction: u64, next: u64) {
        let number = self.sites.len() as u32;
        self.leave(e, Exit::BeforeCall, number);
        self.sites.push(Site { instruction, next, host: e.at });
        e.bytes(&[0x0f, 0x05]);
        // The kernel leaves the address of the next instruction in rcx. The program expects its own
        // address there, not that of the copy.
        e.set(RCX, next);
        self.leave(e, Exit::AfterCall, number);
    }

    /// Writes an exit that ends tracing for the reason `why`. The program continues at `at`.
    pub fn stop(&mut self, e: &mut Emitter, at: u64, why: u32) {
        self.leave(e, Exit::Stop, self.stops.len() as u32);
        self.stops.push((at, why));
    }
}
