//! The instructions of a file, and what their calls lead to.

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

/// The relocations that fill a slot with an address: variables, and functions.
const BINDS: [object::elf::RelocationType; 2] =
    [object::elf::R_X86_64_GLOB_DAT, object::elf::R_X86_64_JUMP_SLOT];

/// Names of the functions at addresses of the file.
pub type Namer<'a> = &'a mut dyn FnMut(u64) -> Option<String>;

/// A file's instructions. Addresses are those of the file.
pub struct Code<'a> {
    /// Its sections with instructions, and their addresses.
    texts: Vec<(u64, &'a [u8])>,
    /// Names of the symbols that the loader binds, by the address of the slot.
    bound: HashMap<u64, String>,
    /// Ranges that are never written.
    constants: Vec<Range<u64>>,
    unwind: Option<&'a Unwind>,
    /// What its functions do to locks, by their first addresses, if their instructions were read.
    pub effects: RefCell<HashMap<u64, Effect>>,
}

impl<'a> Code<'a> {
    /// Reads a file, with what is known about its functions; `None` if it is not an x86-64 file.
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

    /// The instruction at an address.
    pub fn instruction(&self, address: u64) -> Option<Instruction> {
        let bytes = self.texts.iter().find_map(|(start, bytes)| {
            bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        })?;
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// The instructions of a range, one after the other, up to the first bytes that are no
    /// instruction.
    pub fn instructions(&self, range: Range<u64>) -> impl Iterator<Item = Instruction> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let instruction = self.instruction(at).filter(|_| at < range.end)?;
            at = instruction.next_ip();
            Some(instruction)
        })
    }

    /// How many bytes of instructions there are.
    pub fn size(&self) -> usize {
        self.texts.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// All direct calls: what they call, and where they return to.
    pub fn calls(&self) -> impl Iterator<Item = (u64, u64)> {
        let decode = |&(start, bytes): &(u64, &'a [u8])| {
            Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).into_iter()
        };
        let calls = self.texts.iter().flat_map(decode);
        let direct = calls.filter(|i| i.flow_control() == FlowControl::Call && !i.is_invalid());
        direct.map(|i| (i.near_branch_target(), i.next_ip()))
    }

    /// The call that returns to an address.
    pub fn call_before(&self, address: u64) -> Option<Instruction> {
        let before = self.texts.iter().find_map(|(start, bytes)| {
            let end = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(..end)
        });
        call_before(address, before?)
    }

    /// The addresses of the function, or of its part, that an address lies in.
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        self.unwind?.function(address)
    }

    /// What the loader puts into the slot at an address.
    pub fn bound(&self, slot: u64) -> Option<&str> {
        self.bound.get(&slot).map(String::as_str)
    }

    /// Whether the content of an address never changes while the program runs.
    pub fn is_constant(&self, address: u64) -> bool {
        self.bound.contains_key(&address)
            || self.constants.iter().any(|range| range.contains(&address))
    }

    /// The name of a function of another file that a stub at this address jumps to.
    pub fn stub(&self, address: u64) -> Option<&str> {
        let mut at = address;
        // A stub may begin with a landing mark for indirect jumps.
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

/// The slot that an indirect call or jump goes through.
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

/// Sections that are loaded and not writable, and the slots that the loader fills.
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
