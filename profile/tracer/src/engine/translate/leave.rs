//! Writes how translated code is left: into another block, into the engine, into the program.

use core::mem::offset_of;

use crate::engine::context::{Context, SUSPENDED, TABLE_OFFSET, TRACING, spill_offset};
use crate::engine::emit::{Emitter, RAX, RCX, RDX, RSP};
use crate::engine::exits::{Exit, Exits, Link, Site};

impl Exits {
    /// Writes what all exits of a cache share, at its start.
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

    /// A call of a function of this library: natively, with its return address exchanged for
    /// code that takes tracing up again.
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

    /// Into the engine; all registers are the program's.
    fn leave(&self, e: &mut Emitter, exit: Exit, argument: u32) {
        e.set_field(offset_of!(Context, exit), exit as u32);
        e.set_field(offset_of!(Context, argument), argument);
        e.jump(self.common);
    }

    /// Like [`Exits::leave`], at a block's entry, where rax and rcx are saved.
    pub fn leave_from_entry(&self, e: &mut Emitter, exit: Exit, argument: u32) {
        e.load_field(RAX, spill_offset(RAX));
        e.load_field(RCX, spill_offset(RCX));
        self.leave(e, exit, argument);
    }

    /// On to an address that is known.
    pub fn link(&mut self, e: &mut Emitter, target: u64) {
        let at = e.at;
        e.jump(at + 5); // to what follows, until it is linked
        self.leave(e, Exit::Link, self.links.len() as u32);
        self.links.push(Link { at, target });
    }

    /// On to [`Context::target`], by the table.
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
        // jrcxz over the way out, whose length is patched in.
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

    /// A system call, between two visits of the engine.
    pub fn system_call(&mut self, e: &mut Emitter, instruction: u64, next: u64) {
        let number = self.sites.len() as u32;
        self.leave(e, Exit::BeforeCall, number);
        self.sites.push(Site { instruction, next, host: e.at });
        e.bytes(&[0x0f, 0x05]);
        // Where the kernel leaves the address that it returned to.
        e.set(RCX, next);
        self.leave(e, Exit::AfterCall, number);
    }

    /// The end of tracing, before an address of the program.
    pub fn stop(&mut self, e: &mut Emitter, at: u64, why: u32) {
        self.leave(e, Exit::Stop, self.stops.len() as u32);
        self.stops.push((at, why));
    }
}
