//! Notices: bits in the part of the node that gets them.
//!
//! ```text
//!   notices    a bit for each line
//!   summary    a bit for each word of notices
//!   count      how many notices there ever were
//! ```
//!
//! The sender sets the line's bit, then its word's bit in the summary, then increments the count.
//! The receiver loads the count. If the count has grown, the receiver takes the summary's words,
//! and then the words of notices that the summary names. So a fence without notices costs one load
//! of the node's own word.
//!
//! Invariant: once a sender has incremented the count, a node that sees the increment, or has seen
//! it, finds the bit, has found it, or finds the count grown again. The receiver clears bits first
//! in the summary and then in the notices; the sender sets them in the opposite order. So a bit
//! that is left in the notices is followed by its bit in the summary.

use syncline_fabric::{Change, Dead, Fabric, Position};

use crate::shape::{Control, Layout};

/// Sends a node a notice of a line.
pub fn tell(fabric: &impl Fabric, layout: &Layout, node: usize, line: usize) -> Result<(), Dead> {
    let bit = |at: usize, number: usize| {
        let place = Position { rank: node, at: at + number / 64 * 8 };
        fabric.fetch_and(place, Change::Or, 1 << (number % 64))
    };
    bit(layout.notices, line)?;
    bit(layout.summary, line / 64)?;
    fabric.add(layout.control(node, Control::Notices), 1).map(|_| ())
}

/// Calls `told` with each line of which this node got a notice.
pub fn take_in(
    seen: &mut u64,
    fabric: &impl Fabric,
    layout: &Layout,
    told: &mut dyn FnMut(Option<usize>),
) -> Result<(), Dead> {
    let me = fabric.rank();
    let count = fabric.load(layout.control(me, Control::Notices))?;
    if count == *seen {
        return Ok(());
    }
    *seen = count;
    let take = |at: usize, word: usize| {
        fabric.fetch_and(Position { rank: me, at: at + word * 8 }, Change::Replace, 0)
    };
    for word in 0..(layout.notices - layout.summary) / 8 {
        for number in bits(take(layout.summary, word)?) {
            let word = word * 64 + number;
            for line in bits(take(layout.notices, word)?) {
                told(Some(word * 64 + line));
            }
        }
    }
    Ok(())
}

fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}
