//! What a thread does at the instruction where a sample found it: whether it only waits in a loop
//! (`spin`), changes a word atomically, is in a system call, or works.
//!
//! A sample is taken by an interrupt, which the processor accepts between two instructions. An
//! atomic instruction that needs another processor's cache line takes long, and the interrupt comes
//! when it is done. So a thread that is found directly after such an instruction was executing it.

use std::collections::HashMap;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::code::Code;
use super::spin;
use super::with_code;
use crate::file::image::Image;
use crate::model::Doing;

/// Functions of at most this many bytes are examined.
const LARGEST: u64 = 1 << 20;

/// What a thread does at each of `addresses` of a file.
pub fn doing(image: &Image, addresses: &[u64]) -> Vec<Doing> {
    let known = |address| image.doing.borrow().get(address).copied();
    if addresses.iter().any(|address| known(address).is_none()) {
        let look = |code: &Code| {
            let mut functions = Functions::new();
            let doing = |&address: &u64| (address, doing_at(code, address, &mut functions));
            addresses.iter().map(doing).collect()
        };
        let looked: Vec<(u64, Doing)> = with_code(image, look).unwrap_or_default();
        image.doing.borrow_mut().extend(looked);
    }
    addresses.iter().map(|address| known(address).unwrap_or(Doing::Works)).collect()
}

/// The instructions of functions, by their first addresses.
type Functions = HashMap<u64, Vec<Instruction>>;

fn doing_at(code: &Code, address: u64, functions: &mut Functions) -> Doing {
    if spin::is_at_pause(code, address) {
        return Doing::Waits;
    }
    if is_behind_call(code, address) {
        return Doing::Calls;
    }
    let Some(range) = code.function(address).filter(|range| range.end - range.start <= LARGEST)
    else {
        return Doing::Works;
    };
    let function =
        functions.entry(range.start).or_insert_with(|| code.instructions(range).collect());
    if spin::only_waits(function, address) {
        Doing::Waits
    } else if is_behind_atomic(function, address) {
        Doing::Exchanges
    } else {
        Doing::Works
    }
}

/// Whether the instruction before an address is a system call: the address of a thread in the
/// kernel is the address at which the thread will continue.
fn is_behind_call(code: &Code, address: u64) -> bool {
    let before = code.instruction(address.wrapping_sub(2));
    before.is_some_and(|i| i.mnemonic() == Mnemonic::Syscall && i.next_ip() == address)
}

/// Whether the instruction before an address is atomic.
fn is_behind_atomic(function: &[Instruction], address: u64) -> bool {
    let here = function.partition_point(|instruction| instruction.ip() < address);
    here.checked_sub(1)
        .is_some_and(|before| function[before].next_ip() == address && is_atomic(&function[before]))
}

/// Whether an instruction reads and changes a word of memory in one step. Instructions on a word
/// near the top of the stack do not count: they only order other accesses, as a fence does.
fn is_atomic(instruction: &Instruction) -> bool {
    let in_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    let exchanges = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    in_memory && exchanges && instruction.memory_base() != Register::RSP
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::testing::instructions;

    /// Whether the last of these instructions is directly after an atomic one.
    macro_rules! behind_atomic {
        ($($line:literal),* $(,)?) => {{
            let body = instructions!($($line),*);
            let last = body.last().expect("an instruction").ip();
            is_behind_atomic(&body, last)
        }};
    }

    #[test]
    fn samples_behind_atomic_instructions_belong_to_these() {
        assert!(behind_atomic!("mov eax, 1", "lock xadd [rdi], eax", "inc rax"), "a counter");
        assert!(behind_atomic!("xor eax, eax", "xchg [rdi], eax", "test eax, eax"), "a release");
        assert!(behind_atomic!("lock dec qword ptr [rbx + 8]", "jne 2b"), "a reference count");
        assert!(behind_atomic!("lock cmpxchg [r14 + 16], ecx", "jne 2b"), "a lock");
    }

    #[test]
    fn other_instructions_are_work() {
        assert!(!behind_atomic!("lock inc qword ptr [rdi]", "inc rax", "inc rcx"), "one later");
        assert!(!behind_atomic!("inc qword ptr [rdi]", "inc rax"), "not atomic");
        assert!(!behind_atomic!("xchg rcx, rax", "inc rax"), "between registers");
        assert!(!behind_atomic!("lock or qword ptr [rsp], 0", "inc rax"), "a fence");
        assert!(!behind_atomic!("lock inc qword ptr [rdi]"), "at it, and not behind it");
    }

    #[test]
    fn a_loop_that_tries_a_lock_waits() {
        let body = instructions!("xor eax, eax", "lock cmpxchg [rdi], ecx", "jne 2b");
        let behind = body[2].ip();
        assert!(is_behind_atomic(&body, behind) && spin::only_waits(&body, behind));
    }
}
