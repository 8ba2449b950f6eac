//! Counts what the instructions of a section do.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess};

use super::code::Code;
use super::state::{State, reads, writes};
use super::value::{Value, Values};
use super::ways::{Point, Ways};
use crate::model::Section;

/// A field's offset from a pointer is smaller than this. A larger offset is an address of the file,
/// such as that of an array to which an index is added.
const LARGEST_FIELD: i64 = 4096;

/// Counts the instructions on the paths `ways`. Also returns the addresses of the file that these
/// instructions read or write. `start` is the state after the acquisition. Some code tests a
/// condition to decide whether to lock at all, and tests it again before it unlocks. The state
/// after the acquisition knows the outcome of the first test, and the second one does not count as
/// a read of shared memory.
pub fn count(
    ways: Ways,
    start: &State,
    code: &Code,
    values: &mut Values,
) -> (Section, BTreeSet<u64>) {
    let mut section = Section {
        complete: ways.released > 0 && ways.returned == 0 && !ways.lost,
        loops: loops(&ways),
        calls: ways.calls.iter().cloned().collect(),
        ..Section::default()
    };
    let mut infos = InstructionInfoFactory::new();
    let mut words: BTreeMap<Value, Word> = BTreeMap::new();
    let mut of_file = BTreeSet::new();
    let mut told_apart = true;
    let mut seen = BTreeSet::new();
    for (&point, state) in &ways.states {
        let at = point.0;
        let Some(instruction) = code.instruction(at) else { continue };
        if ways.ends.contains(&at) || is_padding(&instruction) {
            continue;
        }
        let first = seen.insert(at);
        section.instructions += usize::from(first);
        let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let info = infos.info(&instruction);
        let mut access = OpAccess::None;
        for memory in info.used_memory() {
            let address = state.address(memory, values);
            let asked = !writes(memory.access()) && start.knows(state.load(address, values));
            if !is_shared(address, code) || asked {
                continue;
            }
            access = both(access, memory.access());
            let varies = section.loops && values.varies(address);
            told_apart &= !repeats && !varies;
            let word = words.entry(address).or_default();
            word.held.insert(state.load(address, values));
            word.read |= reads(memory.access());
            if writes(memory.access()) {
                let next = ways.edges.get(&point).and_then(|next| ways.states.get(next.first()?));
                word.written.insert(next.map(|next| next.load(address, values)));
            }
            if address.known().is_some() || address.offset >= LARGEST_FIELD {
                of_file.insert(address.offset as u64);
            }
        }
        if access == OpAccess::None {
            continue;
        }
        section.loops |= repeats;
        if first {
            add(&mut section, &instruction, access);
        }
    }
    let data = words.iter().filter(|&(&address, word)| {
        !word.only_leads(address, &words, values) && !word.is_copy(address, &words)
    });
    section.words = told_apart.then_some(data.count());
    (section, of_file)
}

/// A word of memory that a section reads or writes.
#[derive(Default)]
struct Word {
    read: bool,
    /// The values that the word had before accesses.
    held: BTreeSet<Value>,
    /// The values that were written; `None` for one that is unknown.
    written: BTreeSet<Option<Value>>,
}

impl Word {
    /// Whether the word is a variable that is only read to find another word, such as a pointer to
    /// a table or an index into one.
    fn only_leads(&self, at: Value, words: &BTreeMap<Value, Word>, values: &Values) -> bool {
        let from_here = |address: Value| self.held.iter().any(|&v| values.comes_from(address, v));
        let reads = self.written.is_empty() && at.known().is_some();
        reads && words.keys().any(|&address| address != at && from_here(address))
    }

    /// Whether the word only gets values that another word had, such as a number taken from a
    /// counter. Such a copy could be written after the release as well.
    fn is_copy(&self, at: Value, words: &BTreeMap<Value, Word>) -> bool {
        let others = || words.iter().filter(|&(&address, _)| address != at);
        let known = |value: Value| others().any(|(_, other)| other.held.contains(&value));
        let copies = |written: &Option<Value>| written.is_some_and(known);
        !self.read && !self.written.is_empty() && self.written.iter().all(copies)
    }
}

fn add(section: &mut Section, instruction: &Instruction, access: OpAccess) {
    // `xchg` with memory is atomic without a lock prefix.
    if instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg {
        section.atomics += 1;
        return;
    }
    section.reads += usize::from(reads(access));
    section.writes += usize::from(writes(access));
}

/// Whether other threads may reach the memory at an address, and whether that memory may change.
fn is_shared(address: Value, code: &Code) -> bool {
    let constant = address.known().is_some_and(|address| code.is_constant(address as u64));
    !address.is_local() && !constant
}

fn both(a: OpAccess, b: OpAccess) -> OpAccess {
    match (reads(a) || reads(b), writes(a) || writes(b)) {
        (true, true) => OpAccess::ReadWrite,
        (true, false) => OpAccess::Read,
        (false, true) => OpAccess::Write,
        (false, false) => OpAccess::None,
    }
}

fn is_padding(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Endbr64)
}

/// Whether a path leads back to an earlier point.
fn loops(ways: &Ways) -> bool {
    let mut done = BTreeSet::new();
    let mut on_the_way = BTreeSet::new();
    let mut stack: Vec<(Point, usize)> = Vec::new();
    for &start in ways.states.keys() {
        if !done.insert(start) {
            continue;
        }
        on_the_way.insert(start);
        stack.push((start, 0));
        while let Some((point, edge)) = stack.pop() {
            let next = ways.edges.get(&point).and_then(|edges| edges.get(edge));
            let Some(&next) = next else {
                on_the_way.remove(&point);
                continue;
            };
            stack.push((point, edge + 1));
            if on_the_way.contains(&next) {
                return true;
            }
            if done.insert(next) {
                on_the_way.insert(next);
                stack.push((next, 0));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(edges: &[(u64, &[u64])]) -> Ways {
        let mut ways = Ways::default();
        let state = State::new(&mut Values::default());
        for &(from, to) in edges {
            ways.states.insert((from, 0), state.clone());
            ways.edges.insert((from, 0), to.iter().map(|&to| (to, 0)).collect());
        }
        ways
    }

    #[test]
    fn loops_are_cycles_and_not_joins_of_control_flow() {
        assert!(!loops(&ways(&[(1, &[2, 3]), (2, &[4]), (3, &[4]), (4, &[])])));
        assert!(loops(&ways(&[(1, &[2]), (2, &[3]), (3, &[2, 4]), (4, &[])])));
        assert!(loops(&ways(&[(1, &[1])])));
        assert!(!loops(&ways(&[])));
    }
}
