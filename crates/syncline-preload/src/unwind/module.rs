//! A piece of code in memory: where it is, where its unwind tables are, what file it is.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

use bytemuck::Zeroable;
use framehop::{ExplicitModuleSectionInfo, Module};
use syncline_interpose::build_id;
use syncline_recording::layout::ModuleRecord;

use crate::recorder::Recorder;

extern crate alloc;
use alloc::boxed::Box;
use alloc::string::String;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

type Phdr = libc::Elf64_Phdr;

/// A loaded ELF object, as the loader knows it. Only valid while it stays loaded.
#[derive(Clone, Copy)]
pub struct Object {
    start: u64,
    end: u64,
    bias: u64,
    phdrs: &'static [Phdr],
    path: *const c_char,
}

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
    let phdrs = found.map_start.wrapping_byte_add(header.e_phoff as usize).cast::<Phdr>();
    Some(Object {
        start: found.map_start as u64,
        end: found.map_end as u64,
        bias: link_map.l_addr,
        // SAFETY: the program headers follow the ELF header in the first mapped page. The
        // object stays while its code is on the stack, and is only looked at then.
        phdrs: unsafe { slice::from_raw_parts(phdrs, header.e_phnum.into()) },
        path: link_map.l_name,
    })
}

/// All objects that are loaded now. Takes the loader's lock: not for the lock path.
pub fn for_each_loaded<F: FnMut(Object)>(mut each: F) {
    unsafe extern "C" fn visit<F: FnMut(Object)>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid record; `each` is the caller's, below.
        unsafe {
            let info = &*info;
            let phdrs = slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            if let Some(object) = Object::new(info.dlpi_addr, phdrs, info.dlpi_name) {
                (*each.cast::<F>())(object);
            }
        }
        0
    }
    // SAFETY: `visit` gets the type that it expects, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut each).cast()) };
}

impl Object {
    fn new(bias: u64, phdrs: &'static [Phdr], path: *const c_char) -> Option<Object> {
        const PAGE: u64 = 4096;
        let loads = || phdrs.iter().filter(|p| p.p_type == PT_LOAD);
        Some(Object {
            start: bias + (loads().map(|p| p.p_vaddr).min()? & !(PAGE - 1)),
            end: bias + loads().map(|p| p.p_vaddr + p.p_memsz).max()?,
            bias,
            phdrs,
            path,
        })
    }

    /// What framehop needs to know of it.
    pub fn framehop(&self) -> Module<&'static [u8]> {
        let mut sections = ExplicitModuleSectionInfo { base_svma: 0, ..Default::default() };
        if let Some((header, frames)) = self.eh_frame() {
            let svma = |s: &[u8]| {
                let start = s.as_ptr() as u64 - self.bias;
                start..start + s.len() as u64
            };
            sections.eh_frame_hdr_svma = Some(svma(header));
            sections.eh_frame_hdr = Some(header);
            sections.eh_frame_svma = Some(svma(frames));
            sections.eh_frame = Some(frames);
        }
        Module::new(String::new(), self.start..self.end, self.bias, sections)
    }

    /// `.eh_frame_hdr` and `.eh_frame`, in memory.
    fn eh_frame(&self) -> Option<(&'static [u8], &'static [u8])> {
        /// A four-byte offset from the field itself: what every linker writes.
        const PCREL_SDATA4: u8 = 0x1b;
        let header = self.phdrs.iter().find(|p| p.p_type == PT_GNU_EH_FRAME)?;
        let start = self.bias + header.p_vaddr;
        // SAFETY: the segment is mapped as the program header says.
        let header = unsafe { slice::from_raw_parts(start as *const u8, header.p_memsz as usize) };
        if header.len() < 8 || header[0] != 1 || header[1] != PCREL_SDATA4 {
            return None;
        }
        let offset = i32::from_ne_bytes(header[4..8].try_into().ok()?);
        let frames = (start + 4).wrapping_add_signed(offset.into());
        let load = self.phdrs.iter().filter(|p| p.p_type == PT_LOAD).find(|p| {
            let from = self.bias + p.p_vaddr;
            (from..from + p.p_memsz).contains(&frames)
        })?;
        let end = self.bias + load.p_vaddr + load.p_memsz;
        // SAFETY: up to its end, the segment is mapped.
        let frames = unsafe { slice::from_raw_parts(frames as *const u8, (end - frames) as usize) };
        Some((header, frames))
    }

    /// What to remember of it.
    pub fn remember(&self, recorder: &Recorder) -> Known {
        let mut record = Box::new(ModuleRecord::zeroed());
        let r = &mut *record;
        r.start = self.start;
        r.end = self.end;
        r.bias = self.bias;
        // SAFETY: names end in a zero byte, and the loader's live as long as the object; the
        // header is mapped, and its path is not written any more.
        let path = unsafe {
            let path = if self.path.is_null() { c"" } else { CStr::from_ptr(self.path) };
            let executable = &(*recorder.header()).executable;
            if path.is_empty() { &executable[..] } else { path.to_bytes() }
        };
        let n = path.len().min(r.path.len() - 1);
        r.path[..n].copy_from_slice(&path[..n]);
        if let Some(id) = self.build_id() {
            let n = id.len().min(r.build_id.len());
            r.build_id[..n].copy_from_slice(&id[..n]);
            r.build_id_len = n as u32;
        }
        Known { record: Box::leak(record) }
    }

    fn build_id(&self) -> Option<&'static [u8]> {
        self.phdrs.iter().filter(|p| p.p_type == PT_NOTE).find_map(|p| {
            let start = (self.bias + p.p_vaddr) as *const u8;
            // SAFETY: the segment is mapped as the program header says.
            build_id(unsafe { slice::from_raw_parts(start, p.p_memsz as usize) })
        })
    }
}

impl Known {
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
