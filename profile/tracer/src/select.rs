//! Selects the sections to trace, by their call sites or locks. These are given as ranges of
//! addresses, in a file or in memory.

use core::sync::atomic::Ordering::Relaxed;

use syncline_interpose::for_each_loaded;

use crate::options::{Options, Place};

/// Whether the sections of a lock at a call site are to be traced. The site is the address to which
/// the call returns. The byte before it belongs to the call, so the address of that byte is
/// compared with the ranges.
pub fn is_selected(options: &Options, lock: u64, site: u64) -> bool {
    options.places.is_empty()
        || options.places.iter().any(|p| is_at(p, if p.is_lock { lock } else { site - 1 }))
}

/// How many microseconds threads waited in a recording for this lock or at this call site. 0 if
/// that is unknown, or if this function has already returned it.
pub fn expected_wait(options: &Options, lock: u64, site: u64) -> u64 {
    let known = options.places.iter().filter(|place| place.waited.load(Relaxed) > 0);
    let here = known.filter(|p| is_at(p, if p.is_lock { lock } else { site - 1 }));
    here.map(|place| place.waited.swap(0, Relaxed)).sum()
}

fn is_at(place: &Place, address: u64) -> bool {
    let Some(module) = place.module else { return place.range.contains(&address) };
    let mut found = false;
    for_each_loaded(|object| {
        if (object.start..object.end).contains(&address) {
            let path = object.path();
            // In the loader's list, the program itself has no name.
            let file = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
            let is_named = match file {
                b"" => is_program(module),
                file => file == module.as_bytes(),
            };
            found |= is_named && place.range.contains(&(address - object.bias));
        }
    });
    found
}

/// Whether the file that this process runs has this name.
fn is_program(name: &str) -> bool {
    let mut path = [0; 4096];
    // SAFETY: the call writes at most `path.len()` bytes.
    let length =
        unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = path.get(..length.max(0) as usize).unwrap_or_default();
    path.rsplit(|&b| b == b'/').next() == Some(name.as_bytes())
}
