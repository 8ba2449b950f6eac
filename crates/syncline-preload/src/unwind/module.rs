//! A piece of code in memory: where it is, where its unwind tables are, what file it is.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

use framehop::{ExplicitModuleSectionInfo, Module};
use syncline_interpose::{Object, ProgramHeader};
use syncline_recording::layout::ModuleRecord;

use crate::recorder::Recorder;

extern crate alloc;
use alloc::boxed::Box;
use alloc::string::String;

const PT_LOAD: u32 = 1;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

/// An object that was seen, and may be gone since.
#[derive(Clone, Copy)]
pub struct Known {
    record: &'static ModuleRecord,
}

/// glibc's `struct dl_find_object` on x86-64.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *const LinkMap,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

/// The public start of the loader's `struct link_map`.
#[repr(C)]
struct LinkMap {
    l_addr: u64,
    l_name: *const c_char,
}

/// `_dl_find_object`; null on a glibc before 2.35, dangling before it was looked up.
fn dl_find_object() -> *mut c_void {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::dangling_mut());
    let known = FOUND.load(Ordering::Relaxed);
    if known != core::ptr::dangling_mut() {
        return known;
    }
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FOUND.store(found, Ordering::Relaxed);
    found
}

/// Whether the loader can be asked for an address at any time.
pub fn can_ask() -> bool {
    !dl_find_object().is_null()
}

/// The object that covers an address, as the loader knows it now.
pub fn at(pc: u64) -> Option<Object> {
    let find = dl_find_object();
    if find.is_null() {
        return None;
    }
    let mut found = Found {
        flags: 0,
        map_start: null_mut(),
        map_end: null_mut(),
        link_map: core::ptr::null(),
        eh_frame: null_mut(),
        reserved: [0; 7],
    };
    // SAFETY: the function has this type, takes any address, and fills in the record.
    let link_map = unsafe {
        let find: unsafe extern "C" fn(*mut c_void, *mut Found) -> c_int =
            core::mem::transmute(find);
        if find(pc as *mut c_void, &mut found) != 0 {
            return None;
        }
        found.link_map.as_ref()?
    };
    // SAFETY: the loader has mapped the object from here on.
    let header = unsafe { &*found.map_start.cast::<libc::Elf64_Ehdr>() };
    if header.e_ident[..4] != *b"\x7fELF" {
        return None;
    }
    let headers = found.map_start.wrapping_byte_add(header.e_phoff as usize);
    let place = (found.map_start as u64, found.map_end as u64);
    // SAFETY: the program headers follow the ELF header in the first mapped page. The object
    // stays while its code is on the stack, and is only looked at then.
    unsafe {
        let headers = slice::from_raw_parts(headers.cast::<ProgramHeader>(), header.e_phnum.into());
        Some(Object::new(place, link_map.l_addr, headers, link_map.l_name))
    }
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
    /// What to remember of an object.
    pub fn of(object: &Object, recorder: &Recorder) -> Known {
        // SAFETY: the header is mapped, and its path is not written any more.
        let own = unsafe { &(*recorder.header()).executable };
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
    pub fn write(&self, recorder: &Recorder) {
        let record = recorder.file().new_module();
        if !record.is_null() {
            // SAFETY: the record was claimed for this object.
            unsafe { record.write(*self.record) };
        }
    }
}
