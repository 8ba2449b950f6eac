//! A section in progress: the memory that it has accessed, and the instructions that it has
//! executed so far.
//!
//! Sections run the same blocks over and over, and mostly access the same memory again. So each
//! word of a block's entries has a [`Window`]: the range of values for which the block's accesses
//! add nothing to the address set or to the bounds of an instruction. An entry whose words are all
//! in their windows is only counted (`touched.rs`).

use syncline_trace::layout::{SectionRecord, StepRecord, SystemCallRecord};

use super::address_set::Words;
use super::block::{Address, Block, Shape};
use super::touched::{Touched, Window};

/// A section in progress, as the top of this file describes it.
pub struct Open {
    /// The section's record.
    pub record: SectionRecord,
    /// The section's address set.
    pub words: Words,
    /// The counts and bounds of the section's instructions. An instruction that is part of several
    /// blocks occurs several times.
    pub steps: Vec<StepRecord>,
    /// The section's system calls.
    pub calls: Vec<SystemCallRecord>,
    blocks: Vec<Ran>,
    /// The accesses of `blocks`.
    touched: Vec<Touched>,
    /// The words of the entries of `blocks`.
    windows: Vec<Window>,
    /// For each block of the cache, its index in `blocks` plus 1, or 0 if it did not run.
    indices: Vec<u32>,
}

/// What a block did in a section.
struct Ran {
    block: u32,
    times: u32,
    /// How often the block had run when its accesses were last examined one by one.
    looked_at: u32,
    /// Whether the block's windows are valid.
    has_windows: bool,
    /// The block's windows are made next when it has run this many times, and again after `wait`
    /// more runs. `wait` doubles each time, unless the windows were useful.
    next_windows: u32,
    wait: u32,
    /// The index of the block's first access in [`Open::touched`].
    first: usize,
    /// The index of the window of the block's first word in [`Open::windows`]; [`NO_WINDOWS`] if
    /// there are no windows yet.
    first_window: usize,
}

const NO_WINDOWS: usize = usize::MAX;

/// Windows were useful if this many consecutive entries were within them.
const ENOUGH: u32 = 8;

/// The largest `wait`: windows that are not useful are made again after this many runs of the
/// block.
const LONGEST_WAIT: u32 = 64;

/// Bounds and bases that don't change while a thread is traced.
#[derive(Clone, Copy)]
pub struct Bases {
    /// The thread's stack: its lowest address and one past the last.
    pub stack: (u64, u64),
    /// The thread's FS base.
    pub fs: u64,
}

impl Open {
    /// An empty section.
    pub fn new() -> Open {
        // SAFETY: a record is plain numbers.
        let record = unsafe { core::mem::zeroed() };
        Open {
            record,
            words: Words::new(),
            steps: Vec::new(),
            calls: Vec::new(),
            blocks: Vec::new(),
            touched: Vec::new(),
            windows: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Empties the section, except for the counts of blocks, which [`Open::fold`] has removed
    /// already.
    pub fn clear(&mut self) {
        self.words.clear();
        self.steps.clear();
        self.calls.clear();
    }

    /// Adds a run of a block, which logged the words `slots`.
    #[inline]
    pub fn ran(&mut self, number: u32, block: &Block, slots: &[u64], bases: Bases) {
        let index = self.index_of(number, block);
        let ran = &mut self.blocks[index];
        ran.times += 1;
        if ran.has_windows {
            let windows = &self.windows[ran.first_window..][..slots.len()];
            // All windows are checked, without a branch for each.
            let left = slots.iter().zip(windows).filter(|(slot, window)| window.is_left_by(**slot));
            if left.count() == 0 {
                return;
            }
        }
        self.look_at(index, block, slots, bases);
    }

    /// Examines one by one the accesses of a block that has just run.
    fn look_at(&mut self, index: usize, block: &Block, slots: &[u64], bases: Bases) {
        let ran = &mut self.blocks[index];
        let touched = &mut self.touched[ran.first..][..block.accesses.len()];
        let passed_over = settle(ran, touched, ran.times - 1);
        ran.looked_at = ran.times;
        for (access, touched) in block.accesses.iter().zip(touched) {
            let was_outside = touched.outside;
            let at = access.start(slots, bases.fs);
            let words = &mut self.words;
            match access.shape {
                // Nearly all accesses have this shape.
                Shape::Plain(size) => touched.touch(words, access, at, size.into(), bases.stack),
                _ => access.other_pieces(at, slots, &mut |address, bytes| {
                    if bytes > 0 {
                        touched.touch(words, access, address, bytes, bases.stack);
                    }
                }),
            }
            // Runs within the windows are counted as if their accesses were on the same side of the
            // stack's bounds as this run's.
            ran.has_windows &= was_outside == touched.outside;
        }
        if passed_over >= ENOUGH {
            ran.wait = 1;
        }
        // Most blocks of a short section run only once, and get no windows.
        if ran.times >= ran.next_windows && block.is_plain {
            ran.next_windows = ran.times + ran.wait;
            ran.wait = LONGEST_WAIT.min(ran.wait * 2);
            self.make_windows(index, block, slots, bases);
        }
    }

    /// Computes the block's windows: the ranges of values around `slots` for which the block would
    /// add nothing.
    #[inline(never)]
    fn make_windows(&mut self, index: usize, block: &Block, slots: &[u64], bases: Bases) {
        let ran = &mut self.blocks[index];
        let touched = &mut self.touched[ran.first..][..block.accesses.len()];
        if ran.first_window == NO_WINDOWS {
            ran.first_window = self.windows.len();
            self.windows.resize(ran.first_window + slots.len(), Window::ALL);
        }
        let windows = &mut self.windows[ran.first_window..][..slots.len()];
        windows.fill(Window::ALL);
        for (access, touched) in block.accesses.iter().zip(touched) {
            let Address::Slot(slot, _) = access.address else { continue };
            let slot = usize::from(slot);
            let at = access.start(slots, bases.fs);
            let (down, up) = touched.room(access, at, &self.words, bases.stack);
            windows[slot].narrow(slots[slot], down, up);
        }
        ran.has_windows = true;
    }

    #[inline]
    fn index_of(&mut self, number: u32, block: &Block) -> usize {
        match self.indices.get(number as usize) {
            Some(&index) if index != 0 => index as usize - 1,
            _ => self.new_place(number, block),
        }
    }

    fn new_place(&mut self, number: u32, block: &Block) -> usize {
        let number_index = number as usize;
        if self.indices.len() <= number_index {
            self.indices.resize(number_index + 1, 0);
        }
        let first = self.touched.len();
        self.touched.resize(first + block.accesses.len(), Touched::NOTHING);
        self.blocks.push(Ran {
            block: number,
            times: 0,
            looked_at: 0,
            has_windows: false,
            next_windows: 2,
            wait: 1,
            first,
            first_window: NO_WINDOWS,
        });
        self.indices[number_index] = self.blocks.len() as u32;
        self.blocks.len() - 1
    }

    /// Converts the counts of blocks to counts of instructions, and removes the blocks.
    pub fn fold(&mut self, blocks: &[Block]) {
        for mut ran in self.blocks.drain(..) {
            self.indices[ran.block as usize] = 0;
            let block = &blocks[ran.block as usize];
            let touched = &mut self.touched[ran.first..][..block.accesses.len()];
            let times = ran.times;
            settle(&mut ran, touched, times);
            self.record.instructions += u64::from(times) * block.steps.len() as u64;
            self.record.memory_instructions += u64::from(times) * u64::from(block.memory_steps);
            let first_step = self.steps.len();
            self.steps.extend(block.steps.iter().map(|step| StepRecord {
                address: block.start + u64::from(*step),
                low: u64::MAX,
                high: 0,
                times,
                accesses: 0,
            }));
            for (access, touched) in block.accesses.iter().zip(touched) {
                let step = &mut self.steps[first_step + usize::from(access.step)];
                step.accesses += touched.accesses;
                step.low = step.low.min(touched.low);
                step.high = step.high.max(touched.high);
            }
        }
        self.touched.clear();
        self.windows.clear();
    }
}

/// Counts the accesses of those runs, up to run number `times`, that were not examined one by one.
/// Returns how many runs these were.
fn settle(ran: &mut Ran, touched: &mut [Touched], times: u32) -> u32 {
    let since = times - ran.looked_at;
    if since == 0 {
        return 0;
    }
    for touched in touched.iter_mut().filter(|touched| touched.outside) {
        touched.accesses += since;
    }
    ran.looked_at = times;
    since
}
