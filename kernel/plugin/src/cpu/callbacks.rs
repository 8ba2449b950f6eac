//! The functions that QEMU calls: each finds its processor and passes on what was executed.

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::sync::Mutex;

use syncline_kernel_follow::bits::Attempt;
use syncline_kernel_follow::code::{KERNEL_CODE, Source};
use syncline_kernel_follow::context::Call;
use syncline_kernel_follow::role::{ROLES, Role};

use super::{cpu, physical};
use crate::qemu::{self, MemInfo};
use crate::together;

/// Packs a role into a pointer; the inverse is below.
pub fn pack(role: Role) -> *mut c_void {
    let at = ROLES.iter().position(|(_, known)| *known == role).unwrap_or(0);
    std::ptr::without_provenance_mut(at)
}

fn unpack(data: *mut c_void) -> Role {
    ROLES[data.addr() % ROLES.len()].1
}

/// Packs a block's address and its number of instructions.
pub fn pack_block(address: u64, instructions: usize) -> *mut c_void {
    let data = address & 0xffff_ffff | (instructions as u64) << 32;
    std::ptr::without_provenance_mut(data as usize)
}

/// Packs an instruction's address, whether it is atomic, and the bit that it clears.
pub fn pack_access(address: u64, atomic: bool, bit: u8) -> *mut c_void {
    let data = address & 0xffff_ffff | u64::from(atomic) << 32 | u64::from(bit) << 33;
    std::ptr::without_provenance_mut(data as usize)
}

/// The attempts in the translated code, by the addresses after them. Attempts are never freed,
/// since blocks may refer to them.
static ATTEMPTS: Mutex<BTreeMap<u64, &'static Attempt>> = Mutex::new(BTreeMap::new());

/// Packs an attempt.
pub fn pack_attempt(attempt: Attempt) -> *mut c_void {
    let mut attempts = ATTEMPTS.lock().expect("nothing panics with it");
    let known = attempts.entry(attempt.site).or_insert_with(|| Box::leak(Box::new(attempt)));
    // The code of a module that is gone may have been replaced.
    if **known != attempt {
        *known = Box::leak(Box::new(attempt));
    }
    std::ptr::from_ref::<Attempt>(known).cast_mut().cast()
}

pub extern "C" fn on_kernel_block(number: c_uint, data: *mut c_void) {
    let cpu = cpu(number);
    let data = data.addr() as u64;
    cpu.execute(data >> 32);
    if cpu.doubts {
        cpu.settle(false);
    }
    if cpu.attempts {
        cpu.continues(KERNEL_CODE | data & 0xffff_ffff);
    }
}

pub extern "C" fn on_user_block(number: c_uint, data: *mut c_void) {
    let cpu = cpu(number);
    if !cpu.in_user {
        cpu.user_space();
    }
    cpu.execute(data.addr() as u64 >> 32);
}

pub extern "C" fn on_call(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    // SAFETY: called from the callback for this access.
    if unsafe { qemu::qemu_plugin_mem_is_store(info) } {
        let cpu = cpu(number);
        cpu.call = Call { stack: address, returns: data.addr() as u64 };
    }
}

pub extern "C" fn on_push(number: c_uint, info: MemInfo, address: u64, _: *mut c_void) {
    // SAFETY: called from the callback for this access.
    if unsafe { qemu::qemu_plugin_mem_is_store(info) } {
        cpu(number).call.stack = address;
    }
}

pub extern "C" fn on_data(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    let cpu = cpu(number);
    if cpu.active {
        cpu.access(data.addr() as u64, info, address);
    }
}

pub extern "C" fn on_clear(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    let cpu = cpu(number);
    if cpu.active {
        let data = data.addr() as u64;
        cpu.clear(data & 0x1_ffff_ffff, info, address, (data >> 33) as u8);
    }
}

pub extern "C" fn on_attempt(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    // SAFETY: the attempt that `pack_attempt` was given; it is never freed.
    let attempt = unsafe { *data.cast::<Attempt>() };
    if let Some(physical) = physical(info, address) {
        cpu(number).attempt(attempt, address, physical);
    }
}

pub extern "C" fn on_word(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    if let Some(physical) = physical(info, address) {
        cpu(number).current.task.word(unpack(data), address, physical);
    }
}

pub extern "C" fn on_release(number: c_uint, info: MemInfo, address: u64, data: *mut c_void) {
    // SAFETY: called from the callback for this access.
    if unsafe { qemu::qemu_plugin_mem_is_store(info) } {
        cpu(number).release(unpack(data), address);
    }
}

pub extern "C" fn on_switch_out(number: c_uint, _: MemInfo, address: u64, _: *mut c_void) {
    cpu(number).switch_out(address);
}

pub extern "C" fn on_switch_in(number: c_uint, _: MemInfo, address: u64, _: *mut c_void) {
    cpu(number).switch_in(address);
}

pub extern "C" fn on_begin(number: c_uint, data: *mut c_void) {
    let cpu = cpu(number);
    let returns = cpu.call.returns;
    cpu.current.catch_up();
    cpu.current.task.begin(unpack(data), returns);
}

pub extern "C" fn on_done(number: c_uint, data: *mut c_void) {
    cpu(number).done(unpack(data));
}

pub extern "C" fn on_proved(number: c_uint, data: *mut c_void) {
    cpu(number).current.task.proved(unpack(data));
}

pub extern "C" fn on_slow(number: c_uint, data: *mut c_void) {
    cpu(number).slow(unpack(data));
}

pub extern "C" fn on_exception(number: c_uint, _: *mut c_void) {
    cpu(number).enter(Source::Exception);
}

pub extern "C" fn on_interrupt(number: c_uint, _: *mut c_void) {
    cpu(number).enter(Source::Interrupt);
}

pub extern "C" fn on_leave(number: c_uint, _: *mut c_void) {
    cpu(number).leave();
}

pub extern "C" fn on_system_call(number: c_uint, _: *mut c_void) {
    let cpu = cpu(number);
    cpu.user_space();
    cpu.in_user = false;
}

pub extern "C" fn on_to_user(number: c_uint, _: *mut c_void) {
    cpu(number).user_space();
}

pub extern "C" fn on_softirq_begin(number: c_uint, _: *mut c_void) {
    let cpu = cpu(number);
    cpu.current.task.enter(true, cpu.call);
    cpu.refresh();
}

pub extern "C" fn on_port(number: c_uint, _: *mut c_void) {
    let cpu = cpu(number);
    if cpu.active {
        cpu.current.task.io();
    }
}

pub extern "C" fn on_idle(_: qemu::Id, number: c_uint) {
    together::idle(number as usize % together::MOST);
}

pub extern "C" fn on_resume(_: qemu::Id, number: c_uint) {
    let cpu = cpu(number);
    if let Some(others) = together::resume(cpu.number) {
        cpu.executed = cpu.executed.max(others);
    }
}
