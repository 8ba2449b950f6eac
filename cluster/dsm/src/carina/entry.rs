//! A directory entry: which nodes read a line and which write it, in 64 bits at the line's home.
//!
//! ```text
//!   bits   0..13  13..26  26..39   39       40..53   53        54
//!          reader reader  reader   more     writer   several   told
//!                                  readers           writers
//! ```
//!
//! The paper keeps a bit for each node. The protocol needs the other nodes' numbers only while they
//! are few. So an entry holds the numbers of up to three readers and of one writer, each plus 1,
//! and 0 for none. If there are more, it holds only the bit "more readers" or "several writers".
//! This allows 4,096 nodes. A writer is also a reader. The bit *told* is set once all nodes of the
//! entry know what concerns them; `deposit.rs` says why it is needed.

use std::fmt;

/// The most nodes that entries can distinguish.
pub const MAX_NODES: usize = 4096;

const NAMED: usize = 3;
const BITS: u32 = 13;
const NUMBER: u64 = (1 << BITS) - 1;
const MORE_READERS: u64 = 1 << 39;
const WRITER: u32 = 40;
const SEVERAL_WRITERS: u64 = 1 << 53;
const TOLD: u64 = 1 << 54;

/// A directory entry: the nodes that read a line, and the nodes that write it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry(u64);

/// Up to three nodes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nodes([u16; NAMED]);

/// The writers of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// No node writes the line.
    None,
    /// One node writes the line.
    One(usize),
    /// Several nodes write the line.
    Many,
}

impl Nodes {
    /// The nodes' numbers.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().filter(|n| *n != 0).map(|n| usize::from(n) - 1)
    }

    /// All nodes except this one.
    #[must_use]
    pub fn without(self, node: usize) -> Nodes {
        Nodes(self.0.map(|n| if usize::from(n) == node + 1 { 0 } else { n }))
    }

    /// Whether this is the empty set.
    pub fn is_empty(self) -> bool {
        self.0 == [0; NAMED]
    }
}

impl Entry {
    /// No node has used the line.
    pub const EMPTY: Entry = Entry(0);
    /// The bit that [`Entry::is_told`] tests.
    pub const TOLD: u64 = TOLD;

    /// The entry as a word.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The entry that a word holds.
    pub fn from_bits(bits: u64) -> Entry {
        Entry(bits)
    }

    /// The readers, or `None` if there are more than three.
    pub fn readers(self) -> Option<Nodes> {
        let number = |k: usize| (self.0 >> (k as u32 * BITS) & NUMBER) as u16;
        (self.0 & MORE_READERS == 0).then(|| Nodes([number(0), number(1), number(2)]))
    }

    /// The writers.
    pub fn writers(self) -> Writers {
        match self.0 >> WRITER & NUMBER {
            _ if self.0 & SEVERAL_WRITERS != 0 => Writers::Many,
            0 => Writers::None,
            n => Writers::One(n as usize - 1),
        }
    }

    /// Whether every node of this entry knows what concerns it.
    pub fn is_told(self) -> bool {
        self.0 & TOLD != 0
    }

    /// The entry with one more reader. At the fourth reader, the readers' numbers are dropped and
    /// "more readers" is set.
    ///
    /// # Panics
    ///
    /// If the node's number is not below [`MAX_NODES`].
    #[must_use]
    pub fn with_reader(self, node: usize) -> Entry {
        assert!(node < MAX_NODES, "an entry has no room for node {node}");
        let Some(readers) = self.readers() else { return self };
        if readers.iter().any(|n| n == node) {
            return self;
        }
        match readers.0.iter().position(|n| *n == 0) {
            Some(free) => Entry(self.0 | (node as u64 + 1) << (free as u32 * BITS)),
            None => Entry(self.0 & !((1 << (NAMED as u32 * BITS)) - 1) | MORE_READERS),
        }
    }

    /// The entry with one more writer, which also becomes a reader.
    ///
    /// # Panics
    ///
    /// If the node's number is not below [`MAX_NODES`].
    #[must_use]
    pub fn with_writer(self, node: usize) -> Entry {
        let read = self.with_reader(node).0;
        match self.writers() {
            Writers::None => Entry(read | (node as u64 + 1) << WRITER),
            Writers::One(writer) if writer != node => {
                Entry(read & !(NUMBER << WRITER) | SEVERAL_WRITERS)
            }
            _ => Entry(read),
        }
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.readers() {
            Some(readers) => write!(f, "readers {readers:?}")?,
            None => write!(f, "many readers")?,
        }
        write!(f, ", writers {:?}{}", self.writers(), if self.is_told() { ", told" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_three_readers_but_not_four() {
        let last = MAX_NODES - 1;
        let three = Entry::EMPTY.with_reader(last).with_reader(0).with_reader(7).with_reader(0);
        assert_eq!(three.readers().expect("few").iter().collect::<Vec<_>>(), [last, 0, 7]);
        assert_eq!(three.readers().expect("few").without(0).iter().collect::<Vec<_>>(), [last, 7]);
        let four = three.with_reader(8);
        assert_eq!(four.readers(), None);
        assert_eq!(four.with_reader(9), four, "many stays many");
        assert_eq!(three.writers(), Writers::None, "readers don't reach into the writer's bits");
        assert_eq!(Entry::from_bits(four.bits()), four);
    }

    #[test]
    fn an_entry_names_one_writer_but_not_two() {
        let one = Entry::EMPTY.with_writer(MAX_NODES - 1);
        assert_eq!(one.writers(), Writers::One(MAX_NODES - 1));
        assert_eq!(one.readers().expect("few").iter().count(), 1, "a writer reads too");
        assert_eq!(one.with_writer(MAX_NODES - 1), one);
        let two = one.with_writer(0);
        assert_eq!((two.writers(), two.is_told()), (Writers::Many, false));
        assert_eq!(two.with_writer(5).writers(), Writers::Many);
        assert!(Entry::from_bits(two.bits() | Entry::TOLD).is_told());
    }
}
