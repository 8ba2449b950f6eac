//! Local variables at fixed offsets in the frames of functions, according to the debug information.

use std::ops::Range;
use std::path::Path;

use addr2line::gimli::{self, DwarfSections, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

use super::demangle::demangle;
use super::files;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The size assumed for a variable whose type is not understood, in bytes.
const UNKNOWN: u64 = 8;

/// The debug information of a file.
pub struct Locals {
    sections: DwarfSections<Vec<u8>>,
    /// The code ranges of each unit, and the unit's offset in `.debug_info`.
    units: Vec<(Range<u64>, gimli::DebugInfoOffset)>,
}

impl Locals {
    /// Reads a file; `None` if it can't be read.
    pub fn read(path: &Path) -> Option<Locals> {
        let cache = files::open(path)?;
        let file = object::File::parse(&cache).ok()?;
        let load = |id: gimli::SectionId| -> Result<Vec<u8>, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            Ok(data.unwrap_or_default().into_owned())
        };
        let mut read = Locals { sections: DwarfSections::load(load).ok()?, units: Vec::new() };
        read.units = units(&read.dwarf());
        Some(read)
    }

    fn dwarf(&self) -> gimli::Dwarf<Bytes<'_>> {
        self.sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))
    }

    /// The variable that lies `below` bytes below the end of the frame of the function at
    /// `address`, and the offset of that position in the variable; `None` if there is none.
    pub fn find(&self, address: u64, below: u64) -> Option<(String, u64)> {
        let (_, at) = self.units.iter().find(|(code, _)| code.contains(&address))?;
        let dwarf = self.dwarf();
        let header = dwarf.debug_info.header_from_offset(*at).ok()?;
        let unit = dwarf.unit(header).ok()?;
        in_unit(&dwarf, &unit, address, below.wrapping_neg() as i64)
    }
}

fn units(dwarf: &gimli::Dwarf<Bytes<'_>>) -> Vec<(Range<u64>, gimli::DebugInfoOffset)> {
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Some(at) = header.debug_info_offset() else { continue };
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        while let Ok(Some(range)) = ranges.next() {
            found.push((range.begin..range.end, at));
        }
    }
    found
}

/// The variable that lies at the distance `place` from the end of the frame of the function at
/// `at`, and the offset of that position in the variable.
fn in_unit(
    dwarf: &gimli::Dwarf<Bytes<'_>>,
    unit: &gimli::Unit<Bytes<'_>>,
    at: u64,
    place: i64,
) -> Option<(String, u64)> {
    let mut entries = unit.entries();
    // The depth of the function that covers the address, and the distance of its frame base from the
    // frame's end; `None` outside of it.
    let mut inside: Option<(isize, Option<i64>)> = None;
    while let Ok(Some(entry)) = entries.next_dfs() {
        let depth = entry.depth();
        if inside.is_some_and(|(function, _)| depth <= function) {
            inside = None;
        }
        if entry.tag() == gimli::DW_TAG_subprogram {
            let mut ranges = dwarf.die_ranges(unit, entry).ok()?;
            while let Ok(Some(range)) = ranges.next() {
                if (range.begin..range.end).contains(&at) {
                    inside = Some((depth, frame_base(unit, entry)));
                }
            }
        }
        let tags = [gimli::DW_TAG_variable, gimli::DW_TAG_formal_parameter];
        let Some((_, Some(base))) = inside.filter(|_| tags.contains(&entry.tag())) else {
            continue;
        };
        let Some(first) = frame_offset(unit, entry).map(|offset| base + offset) else { continue };
        let size = entry
            .attr_value(gimli::DW_AT_type)
            .and_then(|kind| size_of(unit, kind, MOST_TYPES))
            .unwrap_or(UNKNOWN);
        let offset = place.wrapping_sub(first) as u64;
        if offset < size {
            return Some((name_of(dwarf, unit, entry)?, offset));
        }
    }
    None
}

/// The most types that are followed from a variable to a size. For a constant array of arrays of
/// structures there are several.
const MOST_TYPES: u32 = 16;

/// The distance of a function's frame base from the end of its frame; `None` if the distance is not
/// fixed. GCC's is the end itself; that of Clang's unoptimized code is in `rbp`, which points below
/// the return address and the caller's `rbp`.
fn frame_base(
    unit: &gimli::Unit<Bytes<'_>>,
    function: &gimli::DebuggingInformationEntry<Bytes<'_>>,
) -> Option<i64> {
    const BELOW_RETURN_ADDRESS: i64 = -16;
    let location = function.attr_value(gimli::DW_AT_frame_base)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let base = match operations.next().ok()?? {
        gimli::Operation::CallFrameCFA => 0,
        gimli::Operation::Register { register: gimli::X86_64::RBP } => BELOW_RETURN_ADDRESS,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(base)
}

/// The distance of a variable from its function's frame base; `None` if the distance is not fixed.
fn frame_offset(
    unit: &gimli::Unit<Bytes<'_>>,
    entry: &gimli::DebuggingInformationEntry<Bytes<'_>>,
) -> Option<i64> {
    let location = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let gimli::Operation::FrameOffset { offset } = operations.next().ok()?? else { return None };
    operations.next().ok()?.is_none().then_some(offset)
}

/// The size of a type in bytes; `None` if it is not understood, or too large for a `u64`.
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
            .or_else(|| value(gimli::DW_AT_upper_bound)?.checked_add(1))?;
        size = size.checked_mul(count)?;
    }
    Some(size)
}

/// The name of a variable; `None` if it has none. If the variable belongs to an inlined function,
/// its name is in another entry.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of an array of eight-byte numbers, given the last index of each dimension.
    fn size_of_array(last_indices: &[u64]) -> Option<u64> {
        // A unit with children; an array type with the type of its elements, and children; a
        // dimension with its last index; a type of a given size.
        #[rustfmt::skip]
        const ABBREVIATIONS: [u8; 30] = [
            1, 0x11, 1, 0, 0, // DW_TAG_compile_unit
            2, 0x01, 1, 0x49, 0x13, 0, 0, // DW_TAG_array_type, DW_AT_type, DW_FORM_ref4
            3, 0x21, 0, 0x2f, 0x07, 0, 0, // DW_TAG_subrange_type, DW_AT_upper_bound, DW_FORM_data8
            4, 0x24, 0, 0x0b, 0x0b, 0, 0, // DW_TAG_base_type, DW_AT_byte_size, DW_FORM_data1
            0, 0, 0, 0,
        ];
        // Version 4, the abbreviations' offset, and the size of addresses.
        let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
        let length = 4;
        unit.extend([1, 4, 8]);
        let number = length + unit.len() as u32 - 2;
        let array = number as usize + 2;
        unit.push(2);
        unit.extend(number.to_le_bytes());
        for last in last_indices {
            unit.push(3);
            unit.extend(last.to_le_bytes());
        }
        unit.extend([0, 0]);
        let mut info = (unit.len() as u32).to_le_bytes().to_vec();
        info.extend(unit);
        let load = |id| -> Result<Vec<u8>, gimli::Error> {
            Ok(match id {
                gimli::SectionId::DebugInfo => info.clone(),
                gimli::SectionId::DebugAbbrev => ABBREVIATIONS.to_vec(),
                _ => Vec::new(),
            })
        };
        let sections = DwarfSections::load(load).unwrap();
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let header = dwarf.units().next().unwrap().unwrap();
        let unit = dwarf.unit(header).unwrap();
        let kind = gimli::AttributeValue::UnitRef(gimli::UnitOffset(array));
        size_of(&unit, kind, MOST_TYPES)
    }

    #[test]
    fn an_array_that_no_memory_holds_has_no_known_size() {
        assert_eq!(size_of_array(&[2]), Some(24));
        assert_eq!(size_of_array(&[2, 3]), Some(96));
        assert_eq!(size_of_array(&[u64::MAX]), None);
        assert_eq!(size_of_array(&[u64::MAX - 1]), None);
        assert_eq!(size_of_array(&[1 << 40, 1 << 40]), None);
    }
}
