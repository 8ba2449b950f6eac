//! Recognises restartable sequences (`rseq`). If a thread is interrupted at an address inside such
//! a sequence, the kernel makes it continue at the sequence's abort address. Translated code has
//! other addresses, for which the kernel would not do so. Hence tracing stops before a sequence,
//! and the sequence runs natively.
//!
//! A sequence begins when the address of its descriptor is stored into the thread's `rseq` area.
//! Two patterns are recognised: a store to glibc's area, and a `lea`, relative to the instruction
//! pointer, of a descriptor's address, which comes before a store through any register.

use iced_x86::{Instruction, Mnemonic};

use super::operands::{Operand, Place};

/// The four bytes that precede the abort address of every sequence on x86.
const SIGNATURE: u32 = 0x5305_3053;
/// A sequence lies in the function that begins it, so fewer than this many bytes away from the
/// beginning instruction.
const NEAR: u64 = 1 << 20;

/// A sequence's descriptor, as the kernel defines it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Descriptor {
    version_and_flags: u64,
    start: u64,
    length: u64,
    abort: u64,
}

/// Recognises the instruction that begins a sequence.
#[derive(Clone, Copy)]
pub struct Rseq {
    /// The offset of the pointer to the descriptor in glibc's area from the FS base; `None` without
    /// such an area.
    pointer: Option<u64>,
}

impl Rseq {
    /// Looks up glibc's area, which exists since glibc 2.35.
    pub fn new() -> Rseq {
        let found = syncline_interpose::definition(c"__rseq_offset").cast::<isize>();
        // SAFETY: if the symbol exists, it is a constant of this type.
        let offset = unsafe { found.as_ref() }.copied();
        Rseq { pointer: offset.map(|offset| (offset as u64).wrapping_add(8)) }
    }

    /// Whether a sequence begins with this instruction.
    pub fn begins(self, instruction: &Instruction, operands: &[Operand]) -> bool {
        let stores = operands.iter().any(|o| {
            o.write && o.in_fs && matches!(o.place, Place::Known(at) if Some(at) == self.pointer)
        });
        stores || takes_descriptor(instruction)
    }
}

fn takes_descriptor(instruction: &Instruction) -> bool {
    if instruction.mnemonic() != Mnemonic::Lea || !instruction.is_ip_rel_memory_operand() {
        return false;
    }
    let at = instruction.ip_rel_memory_address();
    let last = at + (size_of::<Descriptor>() - 8) as u64;
    if !at.is_multiple_of(8) || !is_readable(at) || !is_readable(last) {
        return false;
    }
    // SAFETY: the address is aligned, and the first and the last eight bytes can be read. At most
    // one page boundary lies between, so all bytes can be read.
    let descriptor = unsafe { (at as *const Descriptor).read() };
    let near = |address: u64| address.abs_diff(instruction.ip()) < NEAR;
    let signature = descriptor.abort.wrapping_sub(4);
    // SAFETY: the four bytes can be read.
    descriptor.version_and_flags == 0
        && near(descriptor.start)
        && near(descriptor.abort)
        && is_readable(signature)
        && unsafe { (signature as *const u32).read_unaligned() } == SIGNATURE
}

/// Whether eight bytes at an address can be read. To find out without a fault, the address is
/// passed to the kernel as a new signal mask, with an invalid operation. The kernel reads the mask
/// before it checks the operation, so it reports `EFAULT` only if the bytes can't be read.
fn is_readable(address: u64) -> bool {
    const NOTHING: i32 = -1;
    const BYTES: usize = 8;
    // SAFETY: the operation is invalid, so the call changes nothing.
    syncline_interpose::preserving_errno(|| unsafe {
        let null = core::ptr::null_mut::<u64>();
        let call = libc::SYS_rt_sigprocmask;
        libc::syscall(call, NOTHING, address as *const u64, null, BYTES);
        *libc::__errno_location() != libc::EFAULT
    })
}
