//! From the log to sections: what each of them touched and executed.
//!
//! The log is a row of entries: blocks that ran, and events in between, such as the begin and the
//! end of a section, in the order in which they happened. A section that lies in another has a
//! record of its own, and what it did is part of both.

use syncline_trace::layout::{STOP_LIMIT, STOP_NONE, SectionRecord, StepRecord, SystemCallRecord};

use super::block::Block;
use super::words::{Hint, How, Words};

/// Entries with this number are events; their one word is the event's place.
pub const EVENT: u32 = 0x4000_0000;

/// Something that happened between two blocks.
#[derive(Clone, Copy)]
pub enum Event {
    /// A section began. (The counts of blocks of the heap are the thread's, not the section's.)
    Begin(SectionRecord),
    /// The section of this lock ended.
    End(End),
    /// The kernel read or wrote memory, for this instruction.
    Kernel {
        /// The first address.
        address: u64,
        /// How many bytes.
        bytes: u64,
        /// Written, not read.
        write: bool,
        /// The instruction of the system call.
        by: u64,
    },
    /// A system call of this number.
    SystemCall(u32),
}

/// The end of a section.
#[derive(Clone, Copy)]
pub struct End {
    /// Its lock.
    pub lock: u64,
    /// When, in ticks.
    pub released: u64,
    /// More flags for it.
    pub flags: u32,
    /// Why tracing stopped there, if the section did not end.
    pub stopped: u32,
    /// Blocks that the thread allocated and freed so far.
    pub heap: (u32, u32),
}

/// A section as it grows.
pub struct Open {
    /// What will be written.
    pub record: SectionRecord,
    /// Its address set.
    pub words: Words,
    /// What its instructions did; one that was part of several blocks comes several times.
    pub steps: Vec<StepRecord>,
    /// Its system calls.
    pub calls: Vec<SystemCallRecord>,
    blocks: Vec<Ran>,
    /// The instructions of `blocks`.
    touched: Vec<Touched>,
    /// The accesses of `blocks`.
    hints: Vec<Hint>,
    /// For each block of the cache its place in `blocks` plus 1, or 0.
    places: Vec<u32>,
}

/// What a block did in a section.
struct Ran {
    block: u32,
    times: u32,
    /// Where its instructions begin in [`Open::touched`].
    first: usize,
    /// Where its accesses begin in [`Open::hints`].
    first_hint: usize,
}

/// What one of its instructions touched outside of the stack.
#[derive(Clone, Copy)]
struct Touched {
    accesses: u32,
    low: u64,
    high: u64,
}

/// The sections of one stretch of tracing.
#[expect(clippy::vec_box, reason = "they go from list to list, and are large")]
pub struct Sections {
    /// Those that have not ended.
    pub open: Vec<Box<Open>>,
    /// Those that have.
    pub done: Vec<Box<Open>>,
    /// Emptied ones, to be used again.
    spare: Vec<Box<Open>>,
    /// Events, to which the log refers.
    pub events: Vec<Event>,
    /// The thread's stack.
    pub stack: (u64, u64),
    /// The thread's base for `fs`.
    pub fs: u64,
    /// Instructions so far.
    pub instructions: u64,
}

impl Sections {
    /// None.
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

    /// Reads the log from its top down to `bottom`; of the last block if `but_last` nothing.
    ///
    /// # Safety
    /// The log lies there, made by these blocks.
    pub unsafe fn replay(&mut self, blocks: &[Block], top: u64, bottom: u64, but_last: bool) {
        let mut at = top;
        while at > bottom {
            // SAFETY: each entry ends in its number, and its words lie below.
            let number = unsafe { ((at - 8) as *const u64).read() } as u32;
            if number >= EVENT {
                at -= 16;
                // SAFETY: as above.
                let place = unsafe { (at as *const u64).read() };
                self.happened(self.events[place as usize], blocks);
                continue;
            }
            let block = &blocks[number as usize];
            let slots = block.slots as usize;
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

    fn ran(&mut self, number: u32, block: &Block, slots: &[u64]) {
        self.instructions += block.steps.len() as u64;
        let (stack, fs) = (self.stack, self.fs);
        for open in &mut self.open {
            let place = open.place(number, block);
            let ran = &mut open.blocks[place];
            ran.times += 1;
            let steps = &mut open.touched[ran.first..][..block.steps.len()];
            let hints = &mut open.hints[ran.first_hint..][..block.accesses.len()];
            let words = &mut open.words;
            for (access, hint) in block.accesses.iter().zip(hints) {
                let step = &mut steps[usize::from(access.step)];
                access.pieces(slots, fs, |address, bytes| {
                    if bytes == 0 {
                        return;
                    }
                    words.touch(address, bytes, access.how, access.by, hint);
                    if address.wrapping_sub(stack.0) >= stack.1.wrapping_sub(stack.0) {
                        step.accesses += 1;
                        step.low = step.low.min(address);
                        step.high = step.high.max(address.wrapping_add(bytes - 1));
                    }
                });
            }
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
                    open.words.touch(address, bytes, how, by, &mut Hint::default());
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

    /// Keeps what is known by blocks, before they are given up.
    pub fn fold(&mut self, blocks: &[Block]) {
        self.open.iter_mut().for_each(|open| open.fold(blocks));
    }

    /// Empties those that are done.
    pub fn clear_done(&mut self) {
        for mut open in self.done.drain(..) {
            open.words.clear();
            open.steps.clear();
            open.calls.clear();
            self.spare.push(open);
        }
        self.instructions = 0;
    }
}

impl Open {
    fn new() -> Open {
        // SAFETY: a record is plain numbers.
        let record = unsafe { core::mem::zeroed() };
        Open {
            record,
            words: Words::new(),
            steps: Vec::new(),
            calls: Vec::new(),
            blocks: Vec::new(),
            touched: Vec::new(),
            hints: Vec::new(),
            places: Vec::new(),
        }
    }

    fn place(&mut self, number: u32, block: &Block) -> usize {
        let number_index = number as usize;
        if self.places.len() <= number_index {
            self.places.resize(number_index + 1, 0);
        }
        if self.places[number_index] == 0 {
            let nothing = Touched { accesses: 0, low: u64::MAX, high: 0 };
            let first = self.touched.len();
            self.touched.resize(first + block.steps.len(), nothing);
            let first_hint = self.hints.len();
            self.hints.resize(first_hint + block.accesses.len(), Hint::default());
            self.blocks.push(Ran { block: number, times: 0, first, first_hint });
            self.places[number_index] = self.blocks.len() as u32;
        }
        self.places[number_index] as usize - 1
    }

    /// Turns counts of blocks into counts of instructions.
    fn fold(&mut self, blocks: &[Block]) {
        for ran in self.blocks.drain(..) {
            self.places[ran.block as usize] = 0;
            let block = &blocks[ran.block as usize];
            self.record.instructions += u64::from(ran.times) * block.steps.len() as u64;
            self.record.memory_instructions += u64::from(ran.times * block.memory_steps);
            for (step, touched) in block.steps.iter().zip(&self.touched[ran.first..]) {
                self.steps.push(StepRecord {
                    address: block.start + u64::from(*step),
                    low: touched.low,
                    high: touched.high,
                    times: ran.times,
                    accesses: touched.accesses,
                });
            }
        }
        self.touched.clear();
        self.hints.clear();
    }
}
