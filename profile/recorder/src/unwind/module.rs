//! A piece of code in memory: where it is, where its unwind tables are, what file it is.

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

/// How many of the file's modules this process may know: one more than the index of the last that it,
/// or the process that forked it, has put there.
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// How many of the file's modules a child knows from its parent.
pub fn known_modules() -> u32 {
    KNOWN.load(Ordering::Relaxed)
}

/// Begins with a file that has no modules.
pub fn forget_written() {
    KNOWN.store(0, Ordering::Relaxed);
}

/// An object that was seen, and may be gone since.
#[derive(Clone, Copy)]
pub struct Known {
    record: &'static ModuleRecord,
}

/// What framehop needs to know of an object.
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

/// `.eh_frame_hdr` and `.eh_frame`, in memory.
fn eh_frame(object: &Object) -> Option<(&'static [u8], &'static [u8])> {
    /// A four-byte offset from the field itself: what every linker writes.
    const PCREL_SDATA4: u8 = 0x1b;
    let segment = object.headers(PT_GNU_EH_FRAME).next()?;
    let header = object.bytes(segment);
    if header.len() < 8 || header[0] != 1 || header[1] != PCREL_SDATA4 {
        return None;
    }
    let offset = i32::from_ne_bytes(header[4..8].try_into().ok()?);
    let frames = (object.bias + segment.p_vaddr + 4).wrapping_add_signed(offset.into());
    // From there to the end of the segment that it lies in.
    object
        .headers(PT_LOAD)
        .find_map(|load| {
            let before = frames.checked_sub(object.bias + load.p_vaddr)?;
            object.bytes(load).get(before as usize..).filter(|frames| !frames.is_empty())
        })
        .map(|frames| (header, frames))
}

impl Known {
    /// The data to keep of an object.
    pub fn of(object: &Object, file: &File) -> Known {
        // SAFETY: the header is mapped, and its path is not written any more.
        let own = unsafe { &(*file.header()).executable };
        let path = if object.path().is_empty() { own } else { object.path() };
        let id = object.build_id().unwrap_or_default();
        let place = (object.start, object.end);
        Known { record: Box::leak(Box::new(ModuleRecord::new(place, object.bias, path, id))) }
    }

    /// Whether the address was in it.
    pub fn covers(&self, address: u64) -> bool {
        (self.record.start..self.record.end).contains(&address)
    }

    /// Whether it is where the object is, or was.
    pub fn overlaps(&self, object: &Object) -> bool {
        self.record.start < object.end && object.start < self.record.end
    }

    /// Whether it is this object, or one of the same shape at the same place.
    pub fn is(&self, object: &Object) -> bool {
        let r = self.record;
        (r.start, r.end, r.bias) == (object.start, object.end, object.bias)
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.record.start
    }

    /// Puts it into the recording.
    pub fn write(&self, file: &File) {
        if let Some(index) = file.add_module(self.record) {
            KNOWN.fetch_max(index + 1, Ordering::Relaxed);
        }
    }
}
