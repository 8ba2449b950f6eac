//! Variables on a stack, by the frame that they lie in.
//!
//! What is known is a part of the stack as it was while the frame was live. A frame ends, upwards, with
//! the address that its function returns to. Two ways lead to it:
//!
//! ```text
//!        ...
//!     T  return address of the frame       the call before it names the function, if it names one
//!        locals, saved registers           <- the variable
//!     S  an address in the function        where a call of its own returns to: the unwind table says how
//!        frames of what it called             far up T is
//! ```
//!
//! From below is tried first, and believed where the unwind table leads to a T that follows a call. What
//! lies on a stack may be old: a frame that was there before, or an address that nobody returns to. So a
//! name is that of the frame that fits, which is nearly always the right one.
//!
//! The variable in the frame is read from the debug information, if it says that it lies at a fixed place.

use std::path::Path;

use addr2line::gimli::{
    self, BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Register,
    UnwindContext, UnwindSection, X86_64,
};
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use object::{Object, ObjectSection};

use super::demangle::demangle;
use super::{Symbols, files};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The longest instruction that calls: by a register and a displacement, with a prefix.
const LONGEST_CALL: u64 = 8;
/// A frame may be so large that its return address is not in the part.
const WORD: u64 = 8;

/// A part of a stack, as it was at some time.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its first address.
    pub start: u64,
    /// Its words.
    pub words: &'a [u64],
}

impl Part<'_> {
    /// Whether an address lies in it.
    pub fn covers(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < WORD * self.words.len() as u64
    }

    fn word(&self, address: u64) -> Option<u64> {
        let place = address.checked_sub(self.start)? / WORD;
        self.words.get(usize::try_from(place).ok()?).copied()
    }

    fn end(&self) -> u64 {
        self.start + WORD * self.words.len() as u64
    }
}

/// A call that returns to some address: the module, and what it calls, if it says that.
struct Call {
    module: usize,
    /// The return address in the file.
    at: u64,
    target: Option<u64>,
}

/// A frame: its module, an address of its function in the file, and the canonical frame address, which is
/// behind the return address.
struct Frame {
    module: usize,
    at: u64,
    cfa: u64,
}

impl Symbols {
    /// The variable on a stack that lies at an address: `total+0x8 on the stack of main (app)`, or its
    /// place in the frame where it has no name; none if the frame is not found.
    pub fn stack_variable(&mut self, address: u64, part: Part<'_>) -> Option<String> {
        let frame =
            self.frame_by_callee(address, part).or_else(|| self.frame_by_caller(address, part))?;
        let image = self.image_of(frame.module);
        let (function, _) = image.function(frame.at)?;
        let module = self.modules[frame.module].name();
        let below = frame.cfa.wrapping_sub(address);
        let path = image.debug_file().or(image.binary());
        let variable = path.and_then(|path| variable(path, frame.at, below));
        let place = match variable {
            Some((name, 0)) => name,
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{below:#x} below the return"),
        };
        Some(format!("{place} on the stack of {function} ({module})"))
    }

    /// By a call of the function's own, whose return address lies below the variable.
    fn frame_by_callee(&mut self, address: u64, part: Part<'_>) -> Option<Frame> {
        let word = address & !(WORD - 1);
        let mut at = word;
        while let Some(value) = at.checked_sub(WORD).and_then(|below| part.word(below)) {
            at -= WORD;
            let Some(call) = self.call_before(value) else { continue };
            let image = self.image_of(call.module);
            let Some(rule) = image.binary().and_then(|path| cfa_rule(path, call.at - 1)) else {
                continue;
            };
            let cfa = match rule {
                // Behind the return the stack pointer is one word further up.
                Rule::FromStack(offset) => (at + WORD).wrapping_add_signed(offset),
                // The frame pointer is not known: the next return address above the variable.
                Rule::FromFrame => self.return_above(word, part)?.0 + WORD,
            };
            let returns = cfa.checked_sub(WORD).and_then(|at| part.word(at));
            if cfa > address && returns.is_some_and(|value| self.call_before(value).is_some()) {
                return Some(Frame { module: call.module, at: call.at - 1, cfa });
            }
        }
        None
    }

    /// By the call that called the function, if it says which.
    fn frame_by_caller(&mut self, address: u64, part: Part<'_>) -> Option<Frame> {
        let (at, call) = self.return_above(address & !(WORD - 1), part)?;
        Some(Frame { module: call.module, at: call.target?, cfa: at + WORD })
    }

    /// The first return address above an address, and where it lies.
    fn return_above(&mut self, address: u64, part: Part<'_>) -> Option<(u64, Call)> {
        let places = (address + WORD..part.end()).step_by(WORD as usize);
        places.into_iter().find_map(|at| Some((at, self.call_before(part.word(at)?)?)))
    }

    /// The call that returns to an address; none if that is not behind a call.
    fn call_before(&mut self, address: u64) -> Option<Call> {
        let (module, at) = self.call_in_file(address)?;
        let image = self.image_of(module);
        let target = call_before(image.binary()?, at)?;
        Some(Call { module, at, target })
    }
}

/// What is called by the instruction before an address of a file: none in it if that hangs on a register,
/// none at all if it is no call.
fn call_before(path: &Path, at: u64) -> Option<Option<u64>> {
    let cache = files::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let covers =
        |s: &object::Section<'_, '_, _>| (s.address()..s.address() + s.size()).contains(&(at - 1));
    let text = file.sections().find(covers)?;
    if text.kind() != object::SectionKind::Text {
        return None;
    }
    (2..=LONGEST_CALL).find_map(|length| {
        let start = at.checked_sub(length)?;
        let bytes = text.data_range(start, length).ok()??;
        let call = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
        if call.is_invalid() || call.len() as u64 != length {
            return None;
        }
        match call.flow_control() {
            FlowControl::Call => Some(Some(call.near_branch_target())),
            FlowControl::IndirectCall => Some(None),
            _ => None,
        }
    })
}

/// Where a function's frame ends.
enum Rule {
    /// So far above the stack pointer.
    FromStack(i64),
    /// By its frame pointer.
    FromFrame,
}

fn cfa_rule(path: &Path, at: u64) -> Option<Rule> {
    let cache = files::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let header = file.section_by_name(".eh_frame_hdr")?;
    let frames = file.section_by_name(".eh_frame")?;
    let bases =
        BaseAddresses::default().set_eh_frame_hdr(header.address()).set_eh_frame(frames.address());
    let parsed = EhFrameHdr::new(header.data().ok()?, LittleEndian).parse(&bases, 8).ok()?;
    let section = EhFrame::new(frames.data().ok()?, LittleEndian);
    let entry =
        parsed.table()?.fde_for_address(&section, &bases, at, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = entry.unwind_info_for_address(&section, &bases, &mut context, at).ok()?;
    const STACK: Register = X86_64::RSP;
    match row.cfa() {
        CfaRule::RegisterAndOffset { register: STACK, offset } => Some(Rule::FromStack(*offset)),
        CfaRule::RegisterAndOffset { .. } => Some(Rule::FromFrame),
        CfaRule::Expression(_) => None,
    }
}

/// The variable of the function at an address of a file that lies so far below its frame's end, and how
/// far behind the variable's start that is.
fn variable(path: &Path, at: u64, below: u64) -> Option<(String, u64)> {
    let cache = files::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let load = |id: gimli::SectionId| -> Result<std::borrow::Cow<'_, [u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let place = below.wrapping_neg() as i64;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let mut ranges = dwarf.unit_ranges(&unit).ok()?;
        let mut covers = false;
        while let Ok(Some(range)) = ranges.next() {
            covers |= (range.begin..range.end).contains(&at);
        }
        if covers {
            return in_unit(&dwarf, &unit, at, place);
        }
    }
    None
}

fn in_unit(
    dwarf: &gimli::Dwarf<Bytes<'_>>,
    unit: &gimli::Unit<Bytes<'_>>,
    at: u64,
    place: i64,
) -> Option<(String, u64)> {
    let mut entries = unit.entries();
    // The depth of the function that covers the address, once it is met.
    let mut inside: Option<isize> = None;
    while let Ok(Some(entry)) = entries.next_dfs() {
        let depth = entry.depth();
        if inside.is_some_and(|function| depth <= function) {
            inside = None;
        }
        if entry.tag() == gimli::DW_TAG_subprogram {
            let mut ranges = dwarf.die_ranges(unit, entry).ok()?;
            while let Ok(Some(range)) = ranges.next() {
                if (range.begin..range.end).contains(&at) {
                    inside = Some(depth);
                }
            }
        }
        let tags = [gimli::DW_TAG_variable, gimli::DW_TAG_formal_parameter];
        if inside.is_none() || !tags.contains(&entry.tag()) {
            continue;
        }
        let Some(first) = frame_offset(unit, entry) else { continue };
        let size = entry
            .attr_value(gimli::DW_AT_type)
            .and_then(|kind| size_of(unit, kind, MOST_TYPES))
            .unwrap_or(WORD);
        let offset = place.wrapping_sub(first) as u64;
        if offset < size {
            return Some((name_of(dwarf, unit, entry)?, offset));
        }
    }
    None
}

/// Types behind types that are followed: a constant array of arrays of structures has some.
const MOST_TYPES: u32 = 16;

/// Where a variable lies from its frame's end on, if that is fixed.
fn frame_offset(
    unit: &gimli::Unit<Bytes<'_>>,
    entry: &gimli::DebuggingInformationEntry<Bytes<'_>>,
) -> Option<i64> {
    let location = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let gimli::Operation::FrameOffset { offset } = operations.next().ok()?? else { return None };
    operations.next().ok()?.is_none().then_some(offset)
}

/// Bytes of a type.
fn size_of(
    unit: &gimli::Unit<Bytes<'_>>,
    kind: gimli::AttributeValue<Bytes<'_>>,
    more: u32,
) -> Option<u64> {
    let gimli::AttributeValue::UnitRef(offset) = kind else { return None };
    let entry = unit.entry(offset).ok()?;
    if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value())
    {
        return Some(size);
    }
    let inner = size_of(unit, entry.attr_value(gimli::DW_AT_type)?, more.checked_sub(1)?)?;
    if entry.tag() != gimli::DW_TAG_array_type {
        return Some(inner);
    }
    let mut tree = unit.entries_tree(Some(offset)).ok()?;
    let mut dimensions = tree.root().ok()?.children();
    let mut size = inner;
    while let Some(dimension) = dimensions.next().ok()? {
        let value = |name| dimension.entry().attr_value(name).and_then(|v| v.udata_value());
        let count = value(gimli::DW_AT_count)
            .or_else(|| value(gimli::DW_AT_upper_bound).map(|last| last + 1))?;
        size = size.checked_mul(count)?;
    }
    Some(size)
}

/// The name, that of a variable of an inlined function stands elsewhere.
fn name_of(
    dwarf: &gimli::Dwarf<Bytes<'_>>,
    unit: &gimli::Unit<Bytes<'_>>,
    entry: &gimli::DebuggingInformationEntry<Bytes<'_>>,
) -> Option<String> {
    let text = |value| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(demangle(&String::from_utf8_lossy(text.slice())))
    };
    if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
        return text(name);
    }
    let gimli::AttributeValue::UnitRef(origin) = entry.attr_value(gimli::DW_AT_abstract_origin)?
    else {
        return None;
    };
    text(unit.entry(origin).ok()?.attr_value(gimli::DW_AT_name)?)
}
