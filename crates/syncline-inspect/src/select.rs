//! Which sections are asked for: by call site or by lock, each by its place in a file.

use core::ffi::{CStr, c_int, c_void};

use crate::options::{Options, Place};

/// Whether the sections of a lock at a call site are to be traced. A site is a return address;
/// the call is what lies before it.
pub fn is_selected(options: &Options, lock: u64, site: u64) -> bool {
    options.places.is_empty()
        || options.places.iter().any(|p| is_at(p, if p.is_lock { lock } else { site - 1 }))
}

fn is_at(place: &Place, address: u64) -> bool {
    let Some(module) = place.module else { return place.range.contains(&address) };
    let mut search = Search { address, module, place, found: false };
    // SAFETY: `visit` takes what it is given.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Does an address lie at this place of a module?
struct Search<'a> {
    address: u64,
    module: &'a str,
    place: &'a Place,
    found: bool,
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid record; `search` is that of `is_at`.
    let (search, info) = unsafe { (&mut *search.cast::<Search>(), &*info) };
    let inside = |h: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr + h.p_vaddr;
        h.p_type == libc::PT_LOAD && (start..start + h.p_memsz).contains(&search.address)
    };
    // SAFETY: the record has so many headers, and a name that ends in a zero byte.
    let (headers, name) = unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (headers, CStr::from_ptr(info.dlpi_name).to_bytes())
    };
    if !headers.iter().any(inside) {
        return 0;
    }
    // The program itself has no name there.
    let file = name.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let is_named = if name.is_empty() { is_program(search.module) } else { false };
    search.found = (is_named || file == search.module.as_bytes())
        && search.place.range.contains(&(search.address - info.dlpi_addr));
    1
}

/// Whether this process runs a file of this name.
fn is_program(name: &str) -> bool {
    let mut path = [0; 4096];
    // SAFETY: the call writes at most so many bytes.
    let length =
        unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = path.get(..length.max(0) as usize).unwrap_or_default();
    path.rsplit(|&b| b == b'/').next() == Some(name.as_bytes())
}
