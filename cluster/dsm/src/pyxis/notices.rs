//! Notices: bits in the told node's part.
//!
//! ```text
//!   notices    a bit for each line
//!   summary    a bit for each word of notices
//!   count      how many notices there ever were
//! ```
//!
//! The node that tells sets the line's bit, then its word's bit in the summary, then counts. The
//! node that takes notices in looks at the count and, if it has grown, takes the summary's words,
//! and then those words of notices. So a fence without notices is one look at a node's own word.
//!
//! Invariant: when the teller's count has grown, a node that sees it, or has seen it, finds the bit,
//! has found it, or finds the count grown again. The node that takes the bits away goes from the
//! summary to the notices and the teller the other way, so that a bit of notices that is left has
//! its bit in the summary to come.

use syncline_fabric::{Change, Dead, Fabric, Position};

use crate::shape::{Control, Layout};

/// Tells a node of a line.
pub fn tell(fabric: &impl Fabric, layout: &Layout, node: usize, line: usize) -> Result<(), Dead> {
    let bit = |at: usize, number: usize| {
        let place = Position { rank: node, at: at + number / 64 * 8 };
        fabric.fetch_and(place, Change::Or, 1 << (number % 64))
    };
    bit(layout.notices, line)?;
    bit(layout.summary, line / 64)?;
    fabric.add(layout.control(node, Control::Notices), 1).map(|_| ())
}

/// Calls `told` with each line that this node was told of.
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
