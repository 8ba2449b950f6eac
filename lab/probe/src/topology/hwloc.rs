//! The topology that the library hwloc reports, as XML.
//!
//! The five functions of hwloc that are used are looked up at run time and not linked. So the
//! command also runs where hwloc is not installed, and cross builds don't need hwloc. The functions
//! pass only pointers. Since version 2.0 (soname 15), hwloc keeps both the functions and the XML
//! compatible.

use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::ptr;

use libloading::{Library, Symbol};

/// The file name of hwloc 2, which exists even without hwloc's development files.
const LIBRARY: &str = "libhwloc.so.15";

type Handle = *mut c_void;

/// The topology of this machine, as XML.
///
/// # Errors
/// A sentence that says why hwloc returns no topology.
pub fn export() -> Result<String, String> {
    // SAFETY: loading and unloading hwloc affects nothing else in this process.
    let library = unsafe { Library::new(LIBRARY) };
    let library = library.map_err(|_| format!("{LIBRARY} is not there"))?;
    let missing = |error: libloading::Error| format!("{LIBRARY}: {error}");
    // SAFETY: these are the types that hwloc.h of version 2 declares.
    unsafe {
        let init: Symbol<unsafe extern "C" fn(*mut Handle) -> c_int> =
            library.get(b"hwloc_topology_init").map_err(missing)?;
        let load: Symbol<unsafe extern "C" fn(Handle) -> c_int> =
            library.get(b"hwloc_topology_load").map_err(missing)?;
        type Export = unsafe extern "C" fn(Handle, *mut *mut c_char, *mut c_int, c_ulong) -> c_int;
        let export: Symbol<Export> =
            library.get(b"hwloc_topology_export_xmlbuffer").map_err(missing)?;
        let free: Symbol<unsafe extern "C" fn(Handle, *mut c_char)> =
            library.get(b"hwloc_free_xmlbuffer").map_err(missing)?;
        let destroy: Symbol<unsafe extern "C" fn(Handle)> =
            library.get(b"hwloc_topology_destroy").map_err(missing)?;

        let mut topology = ptr::null_mut();
        if init(&mut topology) != 0 {
            return Err("hwloc can't begin".to_owned());
        }
        let (mut text, mut length) = (ptr::null_mut(), 0);
        let done = load(topology) == 0 && export(topology, &mut text, &mut length, 0) == 0;
        let outcome = if done && !text.is_null() {
            // The length includes the zero at the end.
            let bytes = usize::try_from(length).unwrap_or(0).saturating_sub(1);
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), bytes);
            let outcome = String::from_utf8_lossy(bytes).into_owned();
            free(topology, text);
            Ok(outcome)
        } else {
            Err("hwloc can't read this machine's topology".to_owned())
        };
        destroy(topology);
        outcome
    }
}
