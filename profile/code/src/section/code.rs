//! The instructions of a file, and the targets of its calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;

use iced_x86::{Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadCache,
    RelocationFlags, RelocationTarget, SectionFlags, SectionKind,
};

use super::names::Effect;
use crate::file::calls::call_before;
use crate::file::demangle::demangle;
use crate::file::unwind::Unwind;

/// The relocations that fill a slot with the address of a variable or of a function.
const BINDS: [object::elf::RelocationType; 2] =
    [object::elf::R_X86_64_GLOB_DAT, object::elf::R_X86_64_JUMP_SLOT];

/// Finds the name of the function at an address of the file.
pub type Namer<'a> = &'a mut dyn FnMut(u64) -> Option<String>;

/// A file's instructions. Addresses are those of the file.
pub struct Code<'a> {
    /// The sections with instructions: their addresses and bytes.
    texts: Vec<(u64, &'a [u8])>,
    /// The names of the symbols whose addresses the loader stores in slots, by the slot's address.
    bound: HashMap<u64, String>,
    /// The address ranges of memory that is never written.
    constants: Vec<Range<u64>>,
    unwind: Option<&'a Unwind>,
    /// What functions do to locks, for the functions that were read. The key is the function's
    /// first address, and the levels of calls that were followed.
    pub effects: RefCell<HashMap<(u64, u8), Effect>>,
}

impl<'a> Code<'a> {
    /// Reads a file. `unwind` is the file's unwind information. `None` if it is not an x86-64 file.
    pub fn new(
        file: &'a object::File<'a, &'a ReadCache<File>>,
        unwind: Option<&'a Unwind>,
    ) -> Option<Code<'a>> {
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let texts = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let texts = texts.filter_map(|section| Some((section.address(), section.data().ok()?)));
        Some(Code {
            texts: texts.collect(),
            bound: bound(file),
            constants: constants(file),
            unwind,
            effects: RefCell::default(),
        })
    }

    /// The instruction at an address; `None` if there is none.
    pub fn instruction(&self, address: u64) -> Option<Instruction> {
        // The next section may begin where one ends.
        let bytes = self.texts.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(from..).filter(|bytes| !bytes.is_empty())
        })?;
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// The instructions of a range, one after the other, up to the first bytes that are not an
    /// instruction.
    pub fn instructions(&self, range: Range<u64>) -> impl Iterator<Item = Instruction> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let instruction = self.instruction(at).filter(|_| at < range.end)?;
            at = instruction.next_ip();
            Some(instruction)
        })
    }

    /// The number of bytes of all sections with instructions.
    pub fn size(&self) -> usize {
        self.texts.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// All direct calls, each with its target and its return address.
    pub fn calls(&self) -> impl Iterator<Item = (u64, u64)> {
        let decode = |&(start, bytes): &(u64, &'a [u8])| {
            Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).into_iter()
        };
        let calls = self.texts.iter().flat_map(decode);
        let direct = calls.filter(|i| i.flow_control() == FlowControl::Call && !i.is_invalid());
        direct.map(|i| (i.near_branch_target(), i.next_ip()))
    }

    /// The call that returns to an address; `None` if there is none.
    pub fn call_before(&self, address: u64) -> Option<Instruction> {
        let before = self.texts.iter().find_map(|(start, bytes)| {
            let end = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(..end)
        });
        call_before(address, before?)
    }

    /// The address range of the function, or of the part of a function, that contains an address;
    /// `None` if unknown.
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        self.unwind?.function(address)
    }

    /// The name of the symbol whose address the loader stores in the slot at `slot`; `None` if
    /// there is no such slot.
    pub fn bound(&self, slot: u64) -> Option<&str> {
        self.bound.get(&slot).map(String::as_str)
    }

    /// Whether the memory at an address never changes while the program runs.
    pub fn is_constant(&self, address: u64) -> bool {
        self.bound.contains_key(&address)
            || self.constants.iter().any(|range| range.contains(&address))
    }

    /// The name of the function of another file to which the stub at `address` jumps; `None` if
    /// there is no stub.
    pub fn stub(&self, address: u64) -> Option<&str> {
        let mut at = address;
        // A stub may begin with `endbr64`, the mark of a target of indirect jumps.
        for _ in 0..2 {
            let instruction = self.instruction(at)?;
            if let Some(slot) = slot(&instruction) {
                return self.bound(slot);
            }
            if instruction.code() != Opcode::Endbr64 {
                return None;
            }
            at = instruction.next_ip();
        }
        None
    }
}

/// The address of the slot from which an indirect call or jump takes its target; `None` for other
/// instructions.
pub fn slot(instruction: &Instruction) -> Option<u64> {
    let indirect = matches!(
        instruction.flow_control(),
        FlowControl::IndirectCall | FlowControl::IndirectBranch
    );
    let through = instruction.op_count() == 1 && instruction.op0_kind() == OpKind::Memory;
    (indirect && through && instruction.is_ip_rel_memory_operand())
        .then(|| instruction.ip_rel_memory_address())
}

fn bound<'a>(file: &object::File<'a, &'a ReadCache<File>>) -> HashMap<u64, String> {
    let mut bound = HashMap::new();
    let Some(symbols) = file.dynamic_symbol_table() else { return bound };
    for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if !matches!(relocation.flags(), RelocationFlags::Elf { r_type } if BINDS.contains(&r_type))
        {
            continue;
        }
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let Ok(symbol) = symbols.symbol_by_index(index) else { continue };
        if let Ok(name) = symbol.name() {
            bound.insert(slot, demangle(name.split('@').next().unwrap_or(name)));
        }
    }
    bound
}

/// The address ranges of sections that are loaded and not writable, and of sections with slots that
/// the loader fills.
fn constants<'a>(file: &object::File<'a, &'a ReadCache<File>>) -> Vec<Range<u64>> {
    let fixed = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => {
            sh_flags.0 & object::elf::SHF_ALLOC.0 != 0 && sh_flags.0 & object::elf::SHF_WRITE.0 == 0
        }
        _ => false,
    };
    let slots = |name: &str| name.starts_with(".got");
    let fixed =
        file.sections().filter(|section| fixed(section.flags()) || section.name().is_ok_and(slots));
    fixed.map(|section| section.address()..section.address() + section.size()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_text_sections_are_both_read() {
        let code = Code {
            texts: vec![(0x1000, &[0x90, 0x90]), (0x1002, &[0xc3])],
            bound: HashMap::new(),
            constants: Vec::new(),
            unwind: None,
            effects: RefCell::default(),
        };
        let opcode = |address| code.instruction(address).map(|found| found.code());
        assert_eq!(opcode(0x1001), Some(Opcode::Nopd));
        assert_eq!(opcode(0x1002), Some(Opcode::Retnq));
        assert_eq!(opcode(0x1003), None);
    }
}
