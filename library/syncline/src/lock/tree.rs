//! The groups of near processors as a tree, for locks that have a queue for each group.
//!
//! The tree is an array: the machine at index 0, then the groups of level 0, then those of level 1,
//! and so on, without the levels that divide nothing on this machine. The children of the group at
//! index `i` begin at index `FAN_OUT * i + 1`.

use crate::memory::Memory;

/// The number of children of a group. If a group has more parts on this machine, several parts
/// share an index.
const FAN_OUT: usize = 4;

/// The number of levels below the machine in a tree of `groups` groups: 1 for 5 groups, 2 for 21.
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

/// The index of a group's parent.
pub const fn above(place: usize) -> usize {
    (place - 1) / FAN_OUT
}

/// The index of the smallest group that this thread is in. A level that divides nothing on this
/// machine is left out. Threads that disagree about a level still have a group above in common.
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
