//! Notices: bits in the part of the node that receives them.
//!
//! ```text
//!   notices    a bit for each line
//!   summary    a bit for each word of notices
//!   count      the number of notices so far
//! ```
//!
//! The sender sets the line's bit, then the bit of that word in the summary, and then increments
//! the count. The receiver loads the count. If the count has grown, the receiver takes the words of
//! the summary, and then each word of notices whose bit is set in the summary. So if there are no
//! notices, they cost a fence one load of a word in the node's own part. (The logs cost it another
//! load, of their count at rank 0.)
//!
//! Invariant: no notice is lost. Once a sender has incremented the count, the notice's bit has been
//! taken, or the receiver finds the bit after its next load of the count, or the count grows once
//! more. This holds because the receiver clears the bits in the summary before those in the
//! notices, and the sender sets them in the opposite order. So if a bit in the notices was set too
//! late to be taken, the bit of its word in the summary is set afterwards.

use syncline_fabric::{Change, Dead, Fabric, Position};

use crate::shape::{Control, Layout};

/// Sends a node a notice about a line.
pub fn send(fabric: &impl Fabric, layout: &Layout, node: usize, line: usize) -> Result<(), Dead> {
    let bit = |at: usize, number: usize| {
        let place = Position { rank: node, at: at + number / 64 * 8 };
        fabric.fetch_and(place, Change::Or, 1 << (number % 64))
    };
    bit(layout.notices, line)?;
    bit(layout.summary, line / 64)?;
    fabric.add(layout.control(node, Control::Notices), 1).map(|_| ())
}

/// Calls `noticed` with each line about which this node got a notice, if the count has grown since
/// `seen`.
pub fn receive(
    seen: &mut u64,
    fabric: &impl Fabric,
    layout: &Layout,
    noticed: &mut dyn FnMut(Option<usize>),
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
                noticed(Some(word * 64 + line));
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
