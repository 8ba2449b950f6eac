//! Restartable sequences (`rseq`): the kernel restarts a sequence if a thread was interrupted at an
//! address inside it. A translation has other addresses and would not be restarted, so sequences
//! have to run natively.
//!
//! A sequence begins when the address of its descriptor is stored into the thread's `rseq` area.
//! Two patterns are recognised: a store to glibc's area, and a `lea`, relative to the instruction
//! pointer, of a descriptor's address, which comes before a store through any register.

use iced_x86::{Instruction, Mnemonic};

use super::operands::{Operand, Place};

/// The bytes before the abort address of a sequence, on x86.
const SIGNATURE: u32 = 0x5305_3053;
/// A sequence lies in the function that begins it, so less than this many bytes away.
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

/// Recognises the beginning of a sequence.
#[derive(Clone, Copy)]
pub struct Rseq {
    /// The offset of the pointer to the descriptor in glibc's area from the FS base; `None` without
    /// such an area.
    pointer: Option<u64>,
}

impl Rseq {
    /// Asks glibc for its area, which it has since 2.35.
    pub fn new() -> Rseq {
        let found = syncline_interpose::definition(c"__rseq_offset").cast::<isize>();
        // SAFETY: the symbol is a constant of this type.
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
    // SAFETY: aligned, and both ends can be read; a page lies either before or behind a boundary
    // between them.
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

/// Whether eight bytes can be read there. The kernel reads the new signal mask before it checks the
/// operation, which is an invalid one here.
fn is_readable(address: u64) -> bool {
    const NOTHING: i32 = -1;
    const BYTES: usize = 8;
    // SAFETY: the call changes nothing.
    syncline_interpose::preserving_errno(|| unsafe {
        let null = core::ptr::null_mut::<u64>();
        let call = libc::SYS_rt_sigprocmask;
        libc::syscall(call, NOTHING, address as *const u64, null, BYTES);
        *libc::__errno_location() != libc::EFAULT
    })
}
