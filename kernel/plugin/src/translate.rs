//! Attaches callbacks to the guest's code as QEMU translates it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, OnceLock};

use iced_x86::InstructionInfoFactory;
use syncline_kernel_follow::code::{Code, Exec, KERNEL_CODE, Meaning, Mem, Source};
use syncline_kernel_follow::role::Role;

use crate::cpu::{self, callbacks};
use crate::export;
use crate::qemu::{self, Block, Id, Insn, OnExec, OnMem};

/// The bytes of `nop dword ptr [rax + NUMBER]`: those before the number, and then (`MARKER_NUMBER`)
/// those of the number without its lowest byte.
const MARKER: [u8; 3] = [0x0f, 0x1f, 0x80];
const MARKER_NUMBER: [u8; 3] = [0x4e, 0x59, 0x53];
const START: u8 = 1;
const STOP: u8 = 2;
const EXPORT: u8 = 3;

static CODE: OnceLock<Code> = OnceLock::new();
/// The addresses that prove tries successful, as found in the code.
static PROOFS: Mutex<Option<HashMap<u64, Role>>> = Mutex::new(None);

/// Sets the code to follow.
pub fn follow(code: Code) {
    // Called once, at the start.
    let _ = CODE.set(code);
}

/// Called when QEMU translates a block.
pub extern "C" fn on_translation(_: Id, block: *mut Block) {
    // SAFETY: the block, its instructions and their bytes belong to QEMU, and live until this call
    // returns.
    let insns = unsafe {
        let insns = (0..qemu::qemu_plugin_tb_n_insns(block))
            .map(|at| qemu::qemu_plugin_tb_get_insn(block, at));
        insns.map(|insn| One::new(insn)).collect::<Vec<One>>()
    };
    let Some(first) = insns.first() else { return };
    markers(&insns);
    let Some(code) = CODE.get() else { return };
    let in_kernel = first.address >= KERNEL_CODE;
    let call: OnExec =
        if in_kernel { callbacks::on_kernel_block } else { callbacks::on_user_block };
    let data = callbacks::pack_block(first.address, insns.len());
    // SAFETY: the block is being translated.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, call, qemu::NO_REGS, data) };
    if !in_kernel {
        return;
    }
    let mut info = InstructionInfoFactory::new();
    let meanings = code.meanings(
        insns.iter().map(|one| (one.address, one.bytes)),
        &cpu::bits::code,
        &mut info,
    );
    for (one, meaning) in insns.iter().zip(meanings) {
        attach(one, &meaning);
    }
}

struct One<'a> {
    insn: *mut Insn,
    address: u64,
    bytes: &'a [u8],
}

impl One<'_> {
    /// # Safety
    /// The instruction belongs to the block that is being translated.
    unsafe fn new(insn: *mut Insn) -> Self {
        // SAFETY: this function's own condition.
        unsafe {
            let size = qemu::qemu_plugin_insn_size(insn);
            let bytes =
                std::slice::from_raw_parts(qemu::qemu_plugin_insn_data(insn).cast::<u8>(), size);
            One { insn, address: qemu::qemu_plugin_insn_vaddr(insn), bytes }
        }
    }

    fn on_exec(&self, call: OnExec, data: *mut c_void) {
        // SAFETY: the instruction belongs to the block that is being translated.
        unsafe {
            qemu::qemu_plugin_register_vcpu_insn_exec_cb(self.insn, call, qemu::NO_REGS, data);
        }
    }

    fn on_mem(&self, call: OnMem, data: *mut c_void) {
        let (regs, kind) = (qemu::NO_REGS, qemu::READ_WRITE);
        // SAFETY: as above.
        unsafe { qemu::qemu_plugin_register_vcpu_mem_cb(self.insn, call, regs, kind, data) };
    }
}

extern "C" fn on_start(_: u32, _: *mut c_void) {
    cpu::start();
}

extern "C" fn on_stop(_: u32, _: *mut c_void) {
    cpu::stop();
}

/// Finds the markers of the guest's first process.
fn markers(insns: &[One<'_>]) {
    for (at, one) in insns.iter().enumerate() {
        if one.bytes.len() != 7 || one.bytes[..3] != MARKER || one.bytes[4..] != MARKER_NUMBER {
            continue;
        }
        match one.bytes[3] {
            START => one.on_exec(on_start, null_mut()),
            STOP => one.on_exec(on_stop, null_mut()),
            EXPORT => {
                if let Some(next) = insns.get(at + 1) {
                    next.on_mem(export::on_page, null_mut());
                }
            }
            _ => {}
        }
    }
}

fn attach(one: &One<'_>, meaning: &Meaning) {
    let mut proofs = PROOFS.lock().expect("nothing panics with it");
    let proofs = proofs.get_or_insert_default();
    if let Some((at, role)) = meaning.proof {
        proofs.insert(at, role);
    }
    if let Some(&role) = proofs.get(&one.address) {
        one.on_exec(callbacks::on_proved, callbacks::pack(role));
    }
    for exec in meaning.exec.iter().flatten() {
        match *exec {
            Exec::Begin(role) => one.on_exec(callbacks::on_begin, callbacks::pack(role)),
            Exec::Done(role) => one.on_exec(callbacks::on_done, callbacks::pack(role)),
            Exec::Slow(role) => one.on_exec(callbacks::on_slow, callbacks::pack(role)),
            Exec::Enter(Source::Exception) => one.on_exec(callbacks::on_exception, null_mut()),
            Exec::Enter(Source::Interrupt) => one.on_exec(callbacks::on_interrupt, null_mut()),
            Exec::Leave | Exec::SoftirqEnd => one.on_exec(callbacks::on_leave, null_mut()),
            Exec::SystemCall => one.on_exec(callbacks::on_system_call, null_mut()),
            Exec::ToUser => one.on_exec(callbacks::on_to_user, null_mut()),
            Exec::SoftirqBegin => one.on_exec(callbacks::on_softirq_begin, null_mut()),
            Exec::Port => one.on_exec(callbacks::on_port, null_mut()),
        }
    }
    match meaning.mem {
        Some(Mem::Data { atomic }) => {
            one.on_mem(callbacks::on_data, callbacks::pack_access(one.address, atomic, 0));
        }
        Some(Mem::Clear { bit, atomic }) => {
            one.on_mem(callbacks::on_clear, callbacks::pack_access(one.address, atomic, bit));
        }
        Some(Mem::Attempt(attempt)) => {
            one.on_mem(callbacks::on_attempt, callbacks::pack_attempt(attempt));
        }
        Some(Mem::Call { returns }) => {
            one.on_mem(callbacks::on_call, without_provenance_mut(returns as usize));
        }
        Some(Mem::Push) => one.on_mem(callbacks::on_push, null_mut()),
        Some(Mem::Word(role)) => one.on_mem(callbacks::on_word, callbacks::pack(role)),
        Some(Mem::Release(role)) => one.on_mem(callbacks::on_release, callbacks::pack(role)),
        Some(Mem::SwitchOut) => one.on_mem(callbacks::on_switch_out, null_mut()),
        Some(Mem::SwitchIn) => one.on_mem(callbacks::on_switch_in, null_mut()),
        None => {}
    }
}
