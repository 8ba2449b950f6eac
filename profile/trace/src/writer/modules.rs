//! Notes the loaded objects, whose files give names to addresses.

use rustix::fs::{CWD, readlinkat_raw};
use syncline_interpose::for_each_loaded;
use syncline_recording::layout::ModuleRecord;

use super::file::File;

/// Adds the loaded objects that the file does not have yet. Takes no lock, so an object that was
/// opened later may be unloaded meanwhile. Called when tracing of a process begins, and when the
/// process ends.
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
