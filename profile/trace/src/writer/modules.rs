//! Writes down which objects (the program and its libraries) are loaded, so that addresses can be
//! given names later.

use rustix::fs::{CWD, readlinkat_raw};
use syncline_interpose::{Object, for_each_loaded, object_at};
use syncline_recording::layout::ModuleRecord;

use super::file::File;

const PT_LOAD: u32 = 1;

/// Adds the loaded objects that the file does not have yet. Must be called when tracing of a
/// process begins, and when the process ends. No lock is acquired, so a library that the program
/// has opened may be unloaded meanwhile.
pub fn note_loaded(file: File) {
    for_each_loaded(|object| note(file, &object));
}

/// Adds the object of the code at this address, if the file has no object there yet: one that was
/// opened after tracing began. Without `_dl_find_object` (glibc before 2.35), [`note_loaded`] adds
/// it when the process ends.
///
/// The calling thread executes this code, so the object stays loaded meanwhile.
pub fn note_object_at(file: File, address: u64) {
    let covers = |module: ModuleRecord| (module.start..module.end).contains(&address);
    if !file.modules().any(covers)
        && let Some(object) = object_at(address)
    {
        note(file, &object);
    }
}

fn note(file: File, object: &Object) {
    let ends = object.headers(PT_LOAD).map(|load| object.bias + load.p_vaddr + load.p_memsz);
    let place = (object.start, ends.max().unwrap_or(object.end), object.bias);
    if file.modules().any(|module| (module.start, module.end, module.bias) == place) {
        return;
    }
    let mut own = [0; 448];
    let length = match object.path() {
        b"" => readlinkat_raw(CWD, c"/proc/self/exe", &mut own).unwrap_or(0),
        _ => 0,
    };
    let path = if length > 0 { &own[..length] } else { object.path() };
    let id = object.build_id().unwrap_or_default();
    file.module(&ModuleRecord::new((place.0, place.1), object.bias, path, id));
}
