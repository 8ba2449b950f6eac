//! Turns the log of executed blocks into sections, each with what it touched and executed.
//!
//! The log is a sequence of entries: blocks that ran, and events in between, such as the beginning
//! and the end of a section, in the order in which they happened. A section inside another has a
//! record of its own; what it did is part of both records.

use syncline_trace::layout::{STOP_LIMIT, STOP_NONE, SectionRecord, SystemCallRecord};

use super::address_set::{Hint, How};
use super::block::{BLOCKS, Block};
use super::open::{Bases, Open};

/// An entry with this number is an event. Its only word is the event's index in
/// [`Sections::events`].
pub const EVENT: u32 = 0x4000_0000;

/// The number in the log entries of a block. Its low bits are the block's own number. Its high bits
/// say how many words the entry has (`slots`), so that the next entry is found without reading the
/// block's description.
pub fn entry_number(block: u32, slots: u16) -> u32 {
    let number = block | u32::from(slots) << BLOCKS.ilog2();
    debug_assert!(number < EVENT);
    number
}

/// Something that happened between two blocks.
#[derive(Clone, Copy)]
pub enum Event {
    /// A section began. (The record's counts of allocations and frees are those of the thread up to
    /// this moment.)
    Begin(SectionRecord),
    /// A section ended.
    End(End),
    /// The kernel read or wrote memory in a system call.
    Kernel {
        /// The first address.
        address: u64,
        /// The number of bytes.
        bytes: u64,
        /// Whether the kernel wrote the memory (otherwise it read it).
        write: bool,
        /// The address of the system call's instruction.
        by: u64,
    },
    /// The program made the system call of this number.
    SystemCall(u32),
}

/// The end of a section.
#[derive(Clone, Copy)]
pub struct End {
    /// The address of its lock.
    pub lock: u64,
    /// When the lock was released, in ticks.
    pub released: u64,
    /// Flags to add to the section's record.
    pub flags: u32,
    /// Why tracing stopped before the section's end; [`STOP_NONE`] if it did not.
    pub stopped: u32,
    /// How many blocks of the heap the thread had allocated and freed up to this moment.
    pub heap: (u32, u32),
}

/// The sections of one stretch of tracing, in which a thread runs translated code without a break.
#[expect(clippy::vec_box, reason = "they go from list to list, and are large")]
pub struct Sections {
    /// Sections that have not ended.
    pub open: Vec<Box<Open>>,
    /// Sections that have ended but are not written yet.
    done: Vec<Box<Open>>,
    /// Emptied sections, kept because their memory will be used again.
    spare: Vec<Box<Open>>,
    /// The events that the log refers to.
    pub events: Vec<Event>,
    /// The bounds of the thread's stack.
    pub stack: (u64, u64),
    /// The thread's FS base.
    pub fs: u64,
    /// The number of instructions in this stretch of tracing so far.
    pub instructions: u64,
}

impl Sections {
    /// No sections.
    pub fn new() -> Sections {
        Sections {
            open: Vec::new(),
            done: Vec::new(),
            spare: Vec::new(),
            events: Vec::new(),
            stack: (0, 0),
            fs: 0,
            instructions: 0,
        }
    }

    /// Reads the log from its top down to `bottom` and adds each entry to the open sections. If
    /// `but_last` is set, the last block is left out. Sections that end are given to `write`, or
    /// kept for [`Sections::write_done`] if `write` is `None`.
    ///
    /// # Safety
    /// Between `bottom` and the top lies a log that was written by translations of these blocks.
    pub unsafe fn replay(
        &mut self,
        blocks: &[Block],
        (top, bottom): (u64, u64),
        but_last: bool,
        mut write: Option<&mut dyn FnMut(&mut Open)>,
    ) {
        let mut at = top;
        while at > bottom {
            // SAFETY: each entry ends with its number, and its words lie below it.
            let number = unsafe { ((at - 8) as *const u64).read() } as u32;
            if number >= EVENT {
                at -= 16;
                // SAFETY: as above.
                let place = unsafe { (at as *const u64).read() };
                self.happened(self.events[place as usize], blocks);
                // An ended section is written at once, because its memory is still in the caches
                // and is used again for the next section.
                if let Some(write) = &mut write {
                    self.write_done(write);
                }
                continue;
            }
            let slots = number as usize / BLOCKS;
            let number = number % BLOCKS as u32;
            let block = &blocks[number as usize];
            at -= 8 * (slots as u64 + 1);
            if but_last && at == bottom {
                break;
            }
            // SAFETY: as above.
            let slots = unsafe { core::slice::from_raw_parts(at as *const u64, slots) };
            self.ran(number, block, slots);
        }
        self.events.clear();
    }

    #[inline]
    fn ran(&mut self, number: u32, block: &Block, slots: &[u64]) {
        self.instructions += block.steps.len() as u64;
        let bases = Bases { stack: self.stack, fs: self.fs };
        for open in &mut self.open {
            open.ran(number, block, slots, bases);
        }
    }

    fn happened(&mut self, event: Event, blocks: &[Block]) {
        match event {
            Event::Begin(record) => {
                let mut open = self.spare.pop().unwrap_or_else(|| Box::new(Open::new()));
                open.record = record;
                self.open.push(open);
            }
            Event::End(end) => {
                let place = self.open.iter().rposition(|o| o.record.lock == end.lock);
                let Some(place) = place else { return };
                let mut open = self.open.remove(place);
                let record = &mut open.record;
                record.released = end.released;
                record.flags |= end.flags;
                record.stopped = match end.stopped {
                    STOP_NONE if open.words.is_cut => STOP_LIMIT,
                    stopped => stopped,
                };
                record.allocations = end.heap.0.wrapping_sub(record.allocations);
                record.frees = end.heap.1.wrapping_sub(record.frees);
                open.fold(blocks);
                self.done.push(open);
            }
            Event::Kernel { address, bytes, write, by } => {
                let how = How::by_kernel(write);
                for open in &mut self.open {
                    open.words.touch(address, bytes, how, by, &mut Hint::NONE.clone());
                }
            }
            Event::SystemCall(number) => {
                for open in &mut self.open {
                    match open.calls.iter_mut().find(|c| c.number == number) {
                        Some(call) => call.times += 1,
                        None => open.calls.push(SystemCallRecord { number, times: 1 }),
                    }
                }
            }
        }
    }

    /// Turns the open sections' counts of blocks into counts of instructions. Must be called before
    /// the blocks are discarded.
    pub fn fold(&mut self, blocks: &[Block]) {
        self.open.iter_mut().for_each(|open| open.fold(blocks));
    }

    /// Writes and empties the sections that have ended.
    pub fn write_done(&mut self, write: &mut dyn FnMut(&mut Open)) {
        for mut open in self.done.drain(..) {
            write(&mut open);
            open.clear();
            self.spare.push(open);
        }
    }

    /// Prepares for the next stretch of tracing.
    pub fn clear(&mut self) {
        self.open.clear();
        self.instructions = 0;
    }
}
