//! Reads the calls that led a thread to an object.

use core::ops::Range;

use syncline_interpose::{Position, for_each_frame, object_at, position};

/// The most frames that are read: more than the wrappers that C++ and GLib nest.
const DEPTH: usize = 16;

/// Goes through the calls that led here, the innermost first and without this library's own, until
/// `each` returns `false`, the position of a call is unknown, or [`DEPTH`] calls were read.
pub fn walk(each: impl FnMut(Position) -> bool) {
    let here = own_function as *const () as u64;
    walk_without(object_at(here).map_or(0..0, |own| own.start..own.end), each);
}

/// A function whose address is in this library.
fn own_function() {}

/// Goes through the calls like [`walk`], without those at the addresses `own`.
fn walk_without(own: Range<u64>, mut each: impl FnMut(Position) -> bool) {
    let mut left = DEPTH;
    for_each_frame(|address, _| {
        // The byte before the return address is in the call.
        let call = address.wrapping_sub(1);
        if own.contains(&(call as u64)) {
            return true;
        }
        let Some(position) = position(call) else { return false };
        left -= 1;
        each(position) && left > 0
    });
}

#[cfg(test)]
mod tests {
    use core::hint::black_box;

    use super::*;

    /// Calls itself `depth` times, then walks. Returns how many calls the walk has shown.
    #[inline(never)]
    fn shown(depth: usize) -> usize {
        if depth > 0 {
            return black_box(shown(black_box(depth) - 1));
        }
        let mut calls = 0;
        walk_without(0..0, |_| {
            calls += 1;
            true
        });
        calls
    }

    #[test]
    fn all_calls_up_to_the_depth_are_shown() {
        assert_eq!(shown(2 * DEPTH), DEPTH);
    }
}
