//! Finds loops in which a thread only checks whether another thread has changed a word.
//!
//! In such a loop, every round begins like the one before. The loop stores nothing, calls nothing,
//! and carries no value from one round to the next, except a count of rounds. So only a store of
//! another thread, or the end of the count, can end the loop. A try of a lock in the loop counts as
//! a read and not as a store. Such a try is an exchange, a locked `bts`, or a compare-and-exchange
//! whose new value is the same each time. A short loop with the processor's `pause` instruction
//! counts as such a loop, whatever else it does except calls.
//!
//! Loops of many instructions, and loops that call functions, are not examined: a thread in such a
//! loop does not count as waiting, except at a `pause` or directly after one.

use std::collections::HashMap;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::code::Code;
use super::state::{reads, writes};

/// Loops of at most this many instructions are examined.
const LONGEST: usize = 48;

/// Whether an address is at a `pause` or directly after one: `pause` takes many cycles, so a sample
/// of a thread in a loop with it is mostly there.
pub fn is_at_pause(code: &Code, address: u64) -> bool {
    let is_pause = |at| code.instruction(at).is_some_and(|i| i.mnemonic() == Mnemonic::Pause);
    is_pause(address) || is_pause(address.wrapping_sub(2))
}

/// Whether an address of a function is in a loop that only waits.
pub fn only_waits(function: &[Instruction], address: u64) -> bool {
    loops_around(function, address).any(looks_only)
}

/// The loops around an address: the instructions from the target of a backward jump to the jump
/// itself.
fn loops_around(function: &[Instruction], address: u64) -> impl Iterator<Item = &[Instruction]> {
    let here = function.partition_point(|instruction| instruction.ip() < address);
    let upto = function.len().min(here + LONGEST);
    let ends = function[here..upto].iter().enumerate();
    ends.filter_map(move |(end, instruction)| {
        let jumps = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        let target = instruction.near_branch_target();
        let back = jumps && target <= address;
        let begin = function.partition_point(|instruction| instruction.ip() < target);
        let body = function.get(begin..=here + end)?;
        (back && body.len() <= LONGEST).then_some(body)
    })
}

/// Whether a loop only waits: each round begins like the one before.
fn looks_only(body: &[Instruction]) -> bool {
    let calls = body.iter().any(|instruction| {
        !matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        )
    });
    if calls {
        return false;
    }
    if body.iter().any(|instruction| instruction.mnemonic() == Mnemonic::Pause) {
        return true;
    }
    let mut registers = Registers::default();
    let mut infos = InstructionInfoFactory::new();
    let mut looks = false;
    let mut offered = Vec::new();
    for instruction in body {
        if is_fence(instruction) {
            continue;
        }
        let tries = tries(instruction);
        let info = infos.info(instruction);
        for memory in info.used_memory() {
            if writes(memory.access()) && !tries {
                return false;
            }
            looks |= reads(memory.access());
        }
        let used: Vec<_> =
            info.used_registers().iter().map(|used| (used.register(), used.access())).collect();
        registers.add(instruction, &used);
        if instruction.mnemonic() == Mnemonic::Cmpxchg {
            offered.push(instruction.op1_register());
        }
    }
    // If the new value of a compare-and-exchange is computed in each round, the loop retries an
    // update, and does not try a lock.
    let updates = offered.into_iter().any(|register| registers.of(register).written);
    looks && !updates && registers.carry_only_counts()
}

/// Whether an instruction may be a try of a lock: an atomic instruction that may leave the word
/// unchanged.
fn tries(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Xchg => true,
        Mnemonic::Cmpxchg | Mnemonic::Bts => instruction.has_lock_prefix(),
        _ => false,
    }
}

/// Whether an instruction only orders other instructions: a fence, or a locked instruction that
/// changes nothing.
fn is_fence(instruction: &Instruction) -> bool {
    let by_nothing = || {
        !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory)
            && instruction.immediate(1) == 0
    };
    match instruction.mnemonic() {
        Mnemonic::Or | Mnemonic::Add => instruction.has_lock_prefix() && by_nothing(),
        Mnemonic::Mfence | Mnemonic::Lfence => true,
        _ => false,
    }
}

/// Whether an instruction adds a number to a register.
fn is_count(instruction: &Instruction) -> bool {
    let immediate = || !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
    match instruction.mnemonic() {
        Mnemonic::Inc | Mnemonic::Dec => true,
        Mnemonic::Add | Mnemonic::Sub => immediate(),
        Mnemonic::Lea => {
            instruction.memory_index() == Register::None
                && instruction.memory_base().full_register()
                    == instruction.op0_register().full_register()
        }
        _ => false,
    }
}

fn is_comparison(instruction: &Instruction) -> bool {
    let registers = |n| instruction.op_kind(n) == OpKind::Register;
    matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
        && (registers(0) || registers(1))
}

/// The uses of registers in a loop.
#[derive(Default)]
struct Registers(HashMap<Register, Use>);

#[derive(Default)]
struct Use {
    /// The register is read before it is written.
    carried: bool,
    written: bool,
    /// The register is only written by additions of a number, and only read by these and by
    /// comparisons.
    counts: bool,
}

impl Registers {
    /// Adds the uses by an instruction, which reads before it writes.
    fn add(&mut self, instruction: &Instruction, used: &[(Register, OpAccess)]) {
        let (counts, compares) = (is_count(instruction), is_comparison(instruction));
        let address = [instruction.memory_base(), instruction.memory_index()];
        for &(register, access) in used {
            let known = self.of(register);
            known.carried |= reads(access) && !known.written;
            // A register that is part of an address selects another word in each round, so it is
            // not a count.
            let only_compares = compares && !writes(access) && !address.contains(&register);
            known.counts &= counts || only_compares;
        }
        for &(register, access) in used {
            self.of(register).written |= writes(access);
        }
    }

    fn of(&mut self, register: Register) -> &mut Use {
        let none = || Use { counts: true, ..Use::default() };
        self.0.entry(register.full_register()).or_insert_with(none)
    }

    fn carry_only_counts(&self) -> bool {
        let vector = |register: &Register| register.is_vector_register() || register.is_st();
        let mut all = self.0.iter();
        all.all(|(register, used)| {
            !vector(register) && (!used.carried || !used.written || used.counts)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::testing::instructions;

    /// Whether the instructions are a loop that only waits.
    macro_rules! looks {
        ($($line:literal),* $(,)?) => {{
            let body = instructions!($($line),*);
            let within = body.last().expect("an instruction").ip();
            only_waits(&body, within)
        }};
    }

    #[test]
    fn loops_that_wait_for_another_thread() {
        assert!(looks!("mov eax, [rdi]", "test eax, eax", "je 2b"), "a flag");
        assert!(looks!("cmp [rdi + rcx * 8], rsi", "jne 2b"), "a generation");
        assert!(looks!("mov eax, 1", "xchg eax, [rdi]", "test eax, eax", "jne 2b"), "a lock");
        assert!(
            looks!("xor eax, eax", "lock cmpxchg [rdi], ecx", "jne 2b"),
            "a lock, by comparison"
        );
        assert!(
            looks!("mov eax, [rdi]", "cmp eax, esi", "je 3f", "dec ecx", "jne 2b"),
            "so many times"
        );
        assert!(
            looks!("mov rax, [rdi]", "mov eax, [rax + 8]", "test eax, eax", "je 2b"),
            "a word of an object that may be another one in the next round"
        );
        assert!(
            looks!("lock or qword ptr [rsp], 0", "mov eax, [rdi + 64]", "cmp [rdi], eax", "jle 2b"),
            "two words that are read in order"
        );
        assert!(looks!("pause", "dec ecx", "jne 2b"), "a pause of some rounds");
        assert!(looks!("mov eax, [rdi]", "test eax, eax", "jne 3f", "pause", "jmp 2b"));
        assert!(
            looks!(
                "xor eax, eax",
                "xor edx, edx",
                "4:",
                "add edx, [rdi + rax * 4]",
                "inc rax",
                "cmp rax, rcx",
                "jne 4b",
                "cmp edx, esi",
                "jne 2b"
            ),
            "a sum of flags that is begun anew in each round"
        );
    }

    #[test]
    fn loops_that_work() {
        assert!(!looks!("mov rdi, [rdi]", "test rdi, rdi", "jne 2b"), "a list");
        assert!(!looks!("cmp byte ptr [rdi + rcx], 0", "lea rcx, [rcx + 1]", "jne 2b"), "a text");
        assert!(!looks!("cmp [rdi + rcx], sil", "lea rcx, [rcx + 1]", "jne 2b"), "a search");
        assert!(!looks!("add rax, [rdi + rcx * 8]", "dec rcx", "jne 2b"), "a sum");
        assert!(!looks!("mov [rdi], eax", "mov eax, [rsi]", "dec ecx", "jne 2b"), "a store");
        assert!(!looks!("lock inc qword ptr [rdi]", "cmp [rsi], eax", "jne 2b"), "a counter");
        assert!(
            !looks!("mov eax, [rdi]", "lea edx, [rax + 1]", "lock cmpxchg [rdi], edx", "jne 2b"),
            "an update that is tried again"
        );
        assert!(!looks!("imul rax, rcx", "cmp rax, [rdi]", "jb 2b"), "a number that grows");
        assert!(!looks!("dec ecx", "jne 2b"), "nothing is looked at");
        assert!(!looks!("mov eax, [rdi]", "call rax", "test eax, eax", "je 2b"), "a call");
        assert!(!looks!("addsd xmm0, [rdi]", "cmp [rsi], ecx", "jne 2b"), "floating point");
        assert!(!looks!("mov eax, [rdi]", "test eax, eax"), "no loop");
    }
}
