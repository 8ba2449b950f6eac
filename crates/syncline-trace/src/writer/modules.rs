//! The objects that are loaded, for names.

use core::ffi::{CStr, c_int, c_void};
use core::slice;

use bytemuck::Zeroable;
use syncline_interpose::build_id;
use syncline_recording::layout::ModuleRecord;

use super::file::File;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PAGE: u64 = 4096;

/// Adds the loaded objects that the file does not have yet. Takes the loader's lock: for the
/// start, the end, and where code turns up that no module covers.
pub fn note_loaded(file: File) {
    let mut file = file;
    // SAFETY: `visit` gets the type that it expects, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut file).cast()) };
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, file: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid record; `file` is the caller's.
    let (info, file) = unsafe { (&*info, *file.cast::<File>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's program headers stay while it visits the object.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loads = || headers.iter().filter(|h| h.p_type == PT_LOAD);
    let (Some(first), Some(end)) =
        (loads().map(|h| h.p_vaddr).min(), loads().map(|h| h.p_vaddr + h.p_memsz).max())
    else {
        return 0;
    };
    let bias = info.dlpi_addr;
    let (start, end) = (bias + (first & !(PAGE - 1)), bias + end);
    if file.modules().any(|m| (m.start, m.end, m.bias) == (start, end, bias)) {
        return 0;
    }
    let mut record = ModuleRecord::zeroed();
    (record.start, record.end, record.bias) = (start, end, bias);
    let name = match info.dlpi_name.is_null() {
        true => c"",
        // SAFETY: names end in a zero byte, and live as long as the object.
        false => unsafe { CStr::from_ptr(info.dlpi_name) },
    };
    if name.is_empty() {
        let path = &mut record.path[..447];
        let _ = rustix::fs::readlinkat_raw(rustix::fs::CWD, c"/proc/self/exe", path);
    } else {
        let bytes = name.to_bytes();
        let n = bytes.len().min(record.path.len() - 1);
        record.path[..n].copy_from_slice(&bytes[..n]);
    }
    let notes = headers.iter().filter(|h| h.p_type == PT_NOTE).map(|h| {
        // SAFETY: the segment is mapped as the program header says.
        unsafe { slice::from_raw_parts((bias + h.p_vaddr) as *const u8, h.p_memsz as usize) }
    });
    if let Some(id) = notes.into_iter().find_map(build_id) {
        let n = id.len().min(record.build_id.len());
        record.build_id[..n].copy_from_slice(&id[..n]);
        record.build_id_len = n as u32;
    }
    file.module(&record);
    0
}
