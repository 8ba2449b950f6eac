//! Selects the sections to trace by their call sites or locks, each given by its addresses in a
//! file or in memory.

use core::sync::atomic::Ordering::Relaxed;

use syncline_interpose::for_each_loaded;

use crate::options::{Options, Place};

/// Whether the sections of a lock at a call site are to be traced. A site is a return address; the
/// call is the instruction before it.
pub fn is_selected(options: &Options, lock: u64, site: u64) -> bool {
    options.places.is_empty()
        || options.places.iter().any(|p| is_at(p, if p.is_lock { lock } else { site - 1 }))
}

/// Microseconds that threads waited in a recording for a lock or at a call site; 0 if none are
/// known, or if they were returned before.
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
            // The loader's list has no name for the program itself.
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

/// Whether this process runs a file of this name.
fn is_program(name: &str) -> bool {
    let mut path = [0; 4096];
    // SAFETY: the call writes at most this many bytes.
    let length =
        unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = path.get(..length.max(0) as usize).unwrap_or_default();
    path.rsplit(|&b| b == b'/').next() == Some(name.as_bytes())
}
