//! The part of QEMU's plugin interface that this plugin uses, declared by hand.
//!
//! Source: QEMU's documentation of TCG plugins, version 1 of the interface (QEMU 4.2 to 8.1). All
//! functions are exported by the program that loads the plugin.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// QEMU's number of a plugin.
pub type Id = u64;
/// The size and kind of an access, packed.
pub type MemInfo = u32;

/// A block of the guest's code that is being translated.
#[repr(C)]
pub struct Block {
    private: [u8; 0],
}
/// An instruction of a block.
#[repr(C)]
pub struct Insn {
    private: [u8; 0],
}
/// The position of an access in the guest's memory.
#[repr(C)]
pub struct HwAddr {
    private: [u8; 0],
}

/// The emulated machine.
#[repr(C)]
pub struct Info {
    /// The emulated architecture, such as `x86_64`.
    pub target: *const c_char,
    /// The oldest version of the interface that this QEMU supports.
    pub version_min: c_int,
    /// The newest version of the interface that it supports.
    pub version_now: c_int,
    /// Whether a whole machine is emulated, and not a program.
    pub system: bool,
    /// The number of virtual processors.
    pub processors: c_int,
    /// The most virtual processors there can be.
    pub most_processors: c_int,
}

/// The callback reads no registers.
pub const NO_REGS: c_int = 0;
/// Loads and stores. The filter for loads alone is broken in QEMU 7.2.
pub const READ_WRITE: c_int = 3;

pub type OnBlock = extern "C" fn(Id, *mut Block);
pub type OnExec = extern "C" fn(c_uint, *mut c_void);
pub type OnMem = extern "C" fn(c_uint, MemInfo, u64, *mut c_void);
pub type OnProcessor = extern "C" fn(Id, c_uint);
pub type OnExit = extern "C" fn(Id, *mut c_void);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, call: OnBlock);
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, at: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub fn qemu_plugin_insn_data(insn: *const Insn) -> *const c_void;
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        call: OnExec,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut Insn,
        call: OnExec,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        call: OnMem,
        flags: c_int,
        kind: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_idle_cb(id: Id, call: OnProcessor);
    pub fn qemu_plugin_register_vcpu_resume_cb(id: Id, call: OnProcessor);
    pub fn qemu_plugin_register_atexit_cb(id: Id, call: OnExit, data: *mut c_void);
    pub fn qemu_plugin_get_hwaddr(info: MemInfo, address: u64) -> *mut HwAddr;
    pub fn qemu_plugin_hwaddr_is_io(address: *const HwAddr) -> bool;
    pub fn qemu_plugin_hwaddr_phys_addr(address: *const HwAddr) -> u64;
    pub fn qemu_plugin_mem_is_store(info: MemInfo) -> bool;
    pub fn qemu_plugin_mem_size_shift(info: MemInfo) -> c_uint;
}
