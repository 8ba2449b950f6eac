//! The calls through which a thread came to an object.

use syncline_interpose::{Position, for_each_frame, object_at, position};

/// The most frames that are read: as many wrappers as are stacked in C++ and GLib, and some more.
const DEPTH: usize = 16;

/// Goes through the calls that led here, the innermost first and this library's own left out,
/// until `each` stops it or the position of a call isn't known.
pub fn walk(mut each: impl FnMut(Position) -> bool) {
    let here = own_function as *const () as u64;
    let own = object_at(here).map_or(0..0, |own| own.start..own.end);
    let mut left = DEPTH;
    for_each_frame(|address, _| {
        // The byte before the return address is in the call.
        let call = address.wrapping_sub(1);
        if own.contains(&(call as u64)) {
            return true;
        }
        let Some(position) = position(call) else { return false };
        left -= 1;
        left > 0 && each(position)
    });
}

/// Its address is one of this library's.
fn own_function() {}
