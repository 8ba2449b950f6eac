//! The log at a home: notices of its lines that concern all nodes. A notice to each single node
//! would cost a message each.
//!
//! An entry has a number, which `LogTail` counts. It stands in a ring, with the number (modulo
//! 2^32) in its upper half and `line + 1` in its lower half. After the entry is written, one global
//! word counts it. A node that finds this word grown at a fence reads all logs from where it
//! stopped.
//!
//! 1. Entries after one that is not written yet may be written already. A reader reads these too,
//!    and starts at the missing entry the next time. There is a next time, because the missing
//!    entry is yet to be counted.
//! 2. The ring may have gone round and lost entries. A reader notices that by the tail or by the
//!    numbers, and assumes a notice for every line: that costs misses, and is sound.
//! 3. A writer that was overtaken by a whole round does not overwrite the newer entry. A node that
//!    has yet to read the writer's own entry is in case 2.

use syncline_fabric::{Dead, Fabric};

use crate::shape::{Control, Layout, Shape};

/// Appends a line to its home's log, and counts it.
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
    /// The count of all entries, as it was just before the logs were last read.
    counted: u64,
    /// How many entries of each home's log were read.
    read: Vec<u64>,
}

impl Logs {
    /// The logs of this many homes, none of which has been read.
    pub fn new(ranks: usize) -> Logs {
        Logs { counted: 0, read: vec![0; ranks] }
    }

    /// Calls `told` with each line that was logged since the last call, with some lines again, and
    /// with `None` if entries were lost.
    pub fn read(
        &mut self,
        fabric: &impl Fabric,
        shape: &Shape,
        layout: &Layout,
        told: &mut dyn FnMut(Option<usize>),
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
                        told(Some((entry & LINE) as usize - 1));
                    }
                    Some(other) if newer(u64::from(other), number as u32) => lapped = true,
                    _ => incomplete = incomplete.or(Some(number)),
                }
            }
            if lapped {
                told(None);
                self.read[home] = tail;
            } else {
                self.read[home] = incomplete.unwrap_or(tail);
            }
        }
        Ok(())
    }
}

const LINE: u64 = u32::MAX as u64;

/// The word of an entry. Numbers count modulo 2^32; a lower half of 0 means that there is no entry.
fn word(number: u64, line: usize) -> u64 {
    number << 32 | (line as u64 + 1)
}

fn number_of(entry: u64) -> Option<u32> {
    (entry & LINE != 0).then_some((entry >> 32) as u32)
}

/// Whether one number is after another.
fn newer(one: u64, other: u32) -> bool {
    (one as u32).wrapping_sub(other) as i32 > 0
}
