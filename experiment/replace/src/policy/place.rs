//! Reads the calls that led a thread to an object.

use syncline_interpose::{Position, for_each_frame, object_at, position};

/// The most frames that are read: more than the wrappers that C++ and GLib nest.
const DEPTH: usize = 16;

/// Goes through the calls that led here, the innermost first and without this library's own, until
/// `each` returns `false`, the position of a call is unknown, or [`DEPTH`] calls were read.
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

/// A function whose address is in this library.
fn own_function() {}
