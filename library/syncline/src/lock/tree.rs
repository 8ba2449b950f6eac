//! The groups of near processors as a tree, for locks that have a queue for each.
//!
//! The machine is at place 0, then come the groups of level 0, then those of level 1. The parts of
//! the group at place `i` are at places `FAN_OUT * i + 1` and following.

use crate::memory::Memory;

/// How many groups a group is divided into; of more, several share a place.
const FAN_OUT: usize = 4;

/// How many levels a tree of this many groups has below the machine: 1 for 5, 2 for 21.
const fn levels(groups: usize) -> usize {
    let (mut levels, mut all, mut lowest) = (0, 1, 1);
    while all < groups {
        levels += 1;
        lowest *= FAN_OUT;
        all += lowest;
    }
    assert!(all == groups, "a tree of whole levels");
    levels
}

/// The place of the group that a group is part of.
pub const fn above(place: usize) -> usize {
    (place - 1) / FAN_OUT
}

/// The place of the smallest group that this thread is in. A level that divides nothing here is
/// left out; should threads disagree about that, they meet in a group above.
#[inline]
pub fn smallest_group<M: Memory, const GROUPS: usize>() -> usize {
    let mut place = 0;
    for level in 0..const { levels(GROUPS) } {
        if M::is_divided(level) {
            place = place * FAN_OUT + 1 + M::group(level) % FAN_OUT;
        }
    }
    place
}
