//! The log at a home, which holds notices for all nodes about lines that live there. Without a log,
//! such a notice would be one message for each node.
//!
//! Entries are in a ring. The word `LogTail` of the home counts them and gives each its number. The
//! entry's upper half is this number modulo 2^32, and its lower half is `line + 1`. After an entry
//! is written, one global word counts it. A node that finds at a fence that this word has grown
//! reads every log from the entry at which it stopped.
//!
//! 1. An entry may be written before the entry with the preceding number is written. A reader reads
//!    the written entries, and starts at the missing one the next time. There is a next time,
//!    because the missing entry will still be counted.
//! 2. The ring may have gone round, so that a reader has lost entries. The reader notices that by
//!    `LogTail` or by the numbers of the entries. It then assumes a notice for every line, which
//!    costs misses and is sound.
//! 3. A writer that was overtaken by a whole round does not overwrite the newer entry. A node that
//!    has not read the writer's own entry yet has lost it, as in case 2.

use syncline_fabric::{Dead, Fabric};

use crate::shape::{Control, Layout, Shape};

/// Appends a line to the log at its home, and counts the new entry.
pub fn append(
    fabric: &impl Fabric,
    shape: &Shape,
    layout: &Layout,
    home: usize,
    line: usize,
) -> Result<(), Dead> {
    let number = fabric.add(layout.control(home, Control::LogTail), 1)?;
    let (place, entry) = (layout.log(shape, home, number), word(number, line));
    let mut seen = fabric.load(place)?;
    while number_of(seen).is_none_or(|other| newer(number, other)) {
        let found = fabric.compare_and_swap(place, seen, entry)?;
        if found == seen {
            break;
        }
        seen = found;
    }
    fabric.add(layout.control(0, Control::LogCount), 1).map(|_| ())
}

/// How far a node has read the logs of all homes.
#[derive(Debug)]
pub struct Logs {
    /// The global count of entries, as loaded just before the logs were last read.
    counted: u64,
    /// How many entries of each home's log were read.
    read: Vec<u64>,
}

impl Logs {
    /// The logs of this many homes, none of which has been read.
    pub fn new(ranks: usize) -> Logs {
        Logs { counted: 0, read: vec![0; ranks] }
    }

    /// Calls `noticed` with each line that was logged since the last call, and perhaps again with a
    /// line that an earlier call has passed. Calls `noticed` with `None` if entries were lost.
    pub fn read(
        &mut self,
        fabric: &impl Fabric,
        shape: &Shape,
        layout: &Layout,
        noticed: &mut dyn FnMut(Option<usize>),
    ) -> Result<(), Dead> {
        let count = fabric.load(layout.control(0, Control::LogCount))?;
        if count == self.counted {
            return Ok(());
        }
        self.counted = count;
        for home in 0..shape.ranks {
            let tail = fabric.load(layout.control(home, Control::LogTail))?;
            let mut incomplete = None;
            let mut lapped = tail - self.read[home] > shape.log as u64;
            for number in self.read[home]..if lapped { 0 } else { tail } {
                let entry = fabric.load(layout.log(shape, home, number))?;
                match number_of(entry) {
                    Some(other) if other == number as u32 => {
                        noticed(Some((entry & LINE) as usize - 1));
                    }
                    Some(other) if newer(u64::from(other), number as u32) => lapped = true,
                    _ => incomplete = incomplete.or(Some(number)),
                }
            }
            if lapped {
                noticed(None);
                self.read[home] = tail;
            } else {
                self.read[home] = incomplete.unwrap_or(tail);
            }
        }
        Ok(())
    }
}

const LINE: u64 = u32::MAX as u64;

/// An entry as a word. The entry's number counts modulo 2^32; a lower half of 0 means that there is
/// no entry.
fn word(number: u64, line: usize) -> u64 {
    number << 32 | (line as u64 + 1)
}

fn number_of(entry: u64) -> Option<u32> {
    (entry & LINE != 0).then_some((entry >> 32) as u32)
}

/// Whether the number `one` is later than `other`.
fn newer(one: u64, other: u32) -> bool {
    (one as u32).wrapping_sub(other) as i32 > 0
}
