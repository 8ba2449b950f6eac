//! Writes down which objects (the program and its libraries) are loaded, so that addresses can be
//! given names later.

use rustix::fs::{CWD, readlinkat_raw};
use syncline_interpose::for_each_loaded;
use syncline_recording::layout::ModuleRecord;

use super::file::File;

/// Adds the loaded objects that the file does not have yet. Must be called when tracing of a
/// process begins, and when the process ends. No lock is acquired, so a library that the program
/// has opened may be unloaded meanwhile.
pub fn note_loaded(file: File) {
    for_each_loaded(|object| {
        let place = (object.start, object.end, object.bias);
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
        file.module(&ModuleRecord::new((object.start, object.end), object.bias, path, id));
    });
}
