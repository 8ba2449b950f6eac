//! A file's unwind information: the bounds and frames of its functions. Stripping a file does not
//! remove this information, so the bounds of functions are known even without their names.
//!
//! Addresses are those of the file.

use std::ops::Range;
use std::path::Path;

use addr2line::gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, Register, UnwindContext, UnwindSection, X86_64,
};
use object::{Object, ObjectSection};

use super::files;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = FrameDescriptionEntry<Bytes<'a>>;

/// The unwind information of a file. A function whose cold part is elsewhere counts as two
/// functions.
pub struct Unwind {
    /// `.eh_frame_hdr`
    index: Vec<u8>,
    /// `.eh_frame`
    frames: Vec<u8>,
    bases: BaseAddresses,
}

/// The end of a function's frame: the address right above its return address on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameEnd {
    /// The end is this many bytes above the stack pointer.
    FromStack(i64),
    /// The end is at a distance from another register, usually the frame pointer.
    FromFrame,
}

impl Unwind {
    /// Reads a file; `None` if it can't be read, or lacks `.eh_frame` or its index,
    /// `.eh_frame_hdr`.
    pub fn read(path: &Path) -> Option<Unwind> {
        let cache = files::open(path)?;
        let file = object::File::parse(&cache).ok()?;
        let index = file.section_by_name(".eh_frame_hdr")?;
        let frames = file.section_by_name(".eh_frame")?;
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(index.address())
            .set_eh_frame(frames.address());
        let bytes = |section: object::Section<'_, '_, _>| Some(section.data().ok()?.to_vec());
        Some(Unwind { index: bytes(index)?, frames: bytes(frames)?, bases })
    }

    fn index(&self) -> Option<ParsedEhFrameHdr<Bytes<'_>>> {
        EhFrameHdr::new(&self.index, LittleEndian).parse(&self.bases, 8).ok()
    }

    fn frames(&self) -> EhFrame<Bytes<'_>> {
        EhFrame::new(&self.frames, LittleEndian)
    }

    fn entry(&self, address: u64) -> Option<Entry<'_>> {
        let index = self.index()?;
        let cie = EhFrame::cie_from_offset;
        index.table()?.fde_for_address(&self.frames(), &self.bases, address, cie).ok()
    }

    /// The start of the function that contains an address, or of the last function before it if no
    /// function contains it. `None` if there is no such function.
    pub fn start_before(&self, address: u64) -> Option<u64> {
        let index = self.index()?;
        let table = index.table()?;
        let found = table.lookup(address, &self.bases).ok()?;
        let offset = table.pointer_to_offset(found).ok()?;
        let cie = EhFrame::cie_from_offset;
        let entry = self.frames().fde_from_offset(&self.bases, offset, cie).ok()?;
        // For an address before the first function, the look-up gives the first function.
        Some(entry.initial_address()).filter(|&start| start <= address)
    }

    /// The range of addresses of the function that contains an address; `None` if it is in none.
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        let entry = self.entry(address)?;
        Some(entry.initial_address()..entry.initial_address().checked_add(entry.len())?)
    }

    /// The end of a function's frame when the function executes the instruction at `address`;
    /// `None` if the unwind information does not give that end as a register and an offset.
    pub fn frame_end(&self, address: u64) -> Option<FrameEnd> {
        let entry = self.entry(address)?;
        let mut context = UnwindContext::new();
        let frames = self.frames();
        let row = entry.unwind_info_for_address(&frames, &self.bases, &mut context, address);
        const STACK: Register = X86_64::RSP;
        match row.ok()?.cfa() {
            CfaRule::RegisterAndOffset { register: STACK, offset } => {
                Some(FrameEnd::FromStack(*offset))
            }
            CfaRule::RegisterAndOffset { .. } => Some(FrameEnd::FromFrame),
            CfaRule::Expression(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_function_share_its_start() {
        // The file is this program itself; its addresses are those in memory minus the address at
        // which it is mapped.
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
        let bias = u64::from_str_radix(maps.split('-').next().expect("a line"), 16).expect("hex");
        let unwind = Unwind::read(Path::new("/proc/self/exe")).expect("its functions");
        let read = Unwind::read as *const () as u64 - bias;
        let before = Unwind::start_before as *const () as u64 - bias;
        assert_eq!(unwind.start_before(read + 1), Some(read));
        assert_eq!(unwind.start_before(read), Some(read));
        assert_eq!(unwind.start_before(before + 1), Some(before));
        assert_eq!(unwind.start_before(0), None);
        assert!(unwind.function(read).is_some_and(|f| f.start == read && f.contains(&(read + 1))));
        // At the function's first instruction only the return address is on the stack.
        assert_eq!(unwind.frame_end(read), Some(FrameEnd::FromStack(8)));
    }
}
