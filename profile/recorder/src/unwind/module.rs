//! A piece of code in memory: its addresses, its unwind tables, and its file.

use core::sync::atomic::{AtomicU32, Ordering};

use framehop::{ExplicitModuleSectionInfo, Module};
use syncline_interpose::Object;
use syncline_recording::layout::ModuleRecord;
use syncline_recording::writer::File;

extern crate alloc;
use alloc::boxed::Box;
use alloc::string::String;

const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

/// How many of the file's modules this process may know: the index of the last one that it or one
/// of its ancestors has written, plus 1.
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// How many of the file's modules a child of this process knows.
pub fn known_modules() -> u32 {
    KNOWN.load(Ordering::Relaxed)
}

/// Begins with a file that has no modules yet.
pub fn forget_written() {
    KNOWN.store(0, Ordering::Relaxed);
}

/// A module that was seen, and may have been unloaded since.
#[derive(Clone, Copy)]
pub struct Known {
    record: &'static ModuleRecord,
}

/// The description of an object that framehop needs.
pub fn framehop(object: &Object) -> Module<&'static [u8]> {
    let mut sections = ExplicitModuleSectionInfo { base_svma: 0, ..Default::default() };
    if let Some((header, frames)) = eh_frame(object) {
        let svma = |s: &[u8]| {
            let start = s.as_ptr() as u64 - object.bias;
            start..start + s.len() as u64
        };
        sections.eh_frame_hdr_svma = Some(svma(header));
        sections.eh_frame_hdr = Some(header);
        sections.eh_frame_svma = Some(svma(frames));
        sections.eh_frame = Some(frames);
    }
    Module::new(String::new(), object.start..object.end, object.bias, sections)
}

/// The contents of `.eh_frame_hdr` and `.eh_frame`, in memory.
fn eh_frame(object: &Object) -> Option<(&'static [u8], &'static [u8])> {
    /// The encoding of the pointer: a four-byte offset from the field itself. Every linker writes
    /// it that way.
    const PCREL_SDATA4: u8 = 0x1b;
    let segment = object.headers(PT_GNU_EH_FRAME).next()?;
    let header = object.bytes(segment);
    if header.len() < 8 || header[0] != 1 || header[1] != PCREL_SDATA4 {
        return None;
    }
    let offset = i32::from_ne_bytes(header[4..8].try_into().ok()?);
    let frames = (object.bias + segment.p_vaddr + 4).wrapping_add_signed(offset.into());
    // The table may extend up to the end of the segment that it lies in.
    object
        .headers(PT_LOAD)
        .find_map(|load| {
            let before = frames.checked_sub(object.bias + load.p_vaddr)?;
            object.bytes(load).get(before as usize..).filter(|frames| !frames.is_empty())
        })
        .map(|frames| (header, frames))
}

impl Known {
    /// Keeps the data of an object. The program itself has no path; it gets that of the executable.
    pub fn of(object: &Object, file: &File) -> Known {
        // SAFETY: the header is mapped, and its path is not written any more.
        let own = unsafe { &(*file.header()).executable };
        let path = if object.path().is_empty() { own } else { object.path() };
        let id = object.build_id().unwrap_or_default();
        let place = (object.start, object.end);
        Known { record: Box::leak(Box::new(ModuleRecord::new(place, object.bias, path, id))) }
    }

    /// Whether an address is within the module.
    pub fn covers(&self, address: u64) -> bool {
        (self.record.start..self.record.end).contains(&address)
    }

    /// Whether its addresses overlap those of an object.
    pub fn overlaps(&self, object: &Object) -> bool {
        self.record.start < object.end && object.start < self.record.end
    }

    /// Whether it is this object, or one with the same addresses.
    pub fn is(&self, object: &Object) -> bool {
        let r = self.record;
        (r.start, r.end, r.bias) == (object.start, object.end, object.bias)
    }

    /// The first address.
    pub fn start(&self) -> u64 {
        self.record.start
    }

    /// Writes the module to the recording.
    pub fn write(&self, file: &File) {
        if let Some(index) = file.add_module(self.record) {
            KNOWN.fetch_max(index + 1, Ordering::Relaxed);
        }
    }
}
