//! Call stacks: captured once per new row, stored once per process.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use syncline_recording::layout::{STACK_BROKEN, STACK_CUT, STACK_FRAMES, StackRecord};

use crate::recorder::{self, Recorder};
use crate::unwind::tools::{Cache, Registers};
use crate::unwind::{self, Trace};

/// Places of the index: twice the stacks that a file holds.
const PLACES: usize = 131_072;
/// How far from its place a stack is looked for.
const REACH: usize = 64;

/// Finds the number of a stack by its frames. All zero is the empty index.
pub struct StackIndex {
    numbers: [AtomicU32; PLACES],
}

/// The number of the stack of a function of ours from the frame that `ret` returns to; 0 if it
/// can't be stored. Without a cache it has one frame.
pub fn capture(from: Registers, ret: usize, cache: Option<&mut Cache>) -> u32 {
    let Some(recorder) = recorder::existing() else { return 0 };
    let mut trace = Trace::new();
    unwind::trace(recorder, from, ret, cache, &mut trace);
    recorder.intern(&trace)
}

impl Recorder {
    /// Stores a stack, or finds it stored.
    fn intern(&self, trace: &Trace) -> u32 {
        let hash = hash(trace.frames());
        let mut mine = None;
        for step in 0..REACH {
            let place = &self.stack_index.numbers[(hash as usize + step) % PLACES];
            let mut number = place.load(Ordering::Acquire);
            if number == 0 {
                let fresh = match mine {
                    Some(number) => number,
                    None => self.store(trace, hash),
                };
                if fresh == 0 {
                    return 0;
                }
                mine = Some(fresh);
                // Release pairs with the Acquire load above: whoever finds the number
                // finds the frames.
                match place.compare_exchange(0, fresh, Ordering::Release, Ordering::Acquire) {
                    Ok(_) => return fresh,
                    Err(theirs) => number = theirs,
                }
            }
            if self.is(number, trace, hash) {
                self.discard(mine);
                return number;
            }
        }
        mine.unwrap_or_else(|| self.store(trace, hash))
    }

    fn record(&self, number: u32) -> *mut StackRecord {
        // SAFETY: the header is mapped, and a region's offset does not change.
        let offset = unsafe { (*self.header()).stacks.offset };
        self.file().at(offset + u64::from(number) * size_of::<StackRecord>() as u64).cast()
    }

    fn is(&self, number: u32, trace: &Trace, hash: u32) -> bool {
        // SAFETY: a number in the index is that of a stored stack, which does not change.
        let stored = unsafe { &*self.record(number) };
        stored.hash == hash
            && usize::from(stored.depth) == trace.frames().len()
            && stored.frames[..usize::from(stored.depth)] == *trace.frames()
    }

    fn store(&self, trace: &Trace, hash: u32) -> u32 {
        let (record, number) = self.file().new_stack();
        if record.is_null() {
            return 0;
        }
        let frames = trace.frames();
        // SAFETY: the record was claimed by this thread and is real.
        unsafe {
            (*record).hash = hash;
            (*record).flags =
                (u8::from(trace.cut) * STACK_CUT) | (u8::from(trace.broken) * STACK_BROKEN);
            (&mut (*record).frames)[..frames.len()].copy_from_slice(frames);
            // Release: readers of the file take a stack whose depth is there.
            AtomicU8::from_ptr(&raw mut (*record).depth)
                .store(frames.len().min(STACK_FRAMES) as u8, Ordering::Release);
        }
        number
    }

    /// Two threads stored the same stack at once; one of the two records stays unused.
    fn discard(&self, number: Option<u32>) {
        if let Some(number) = number {
            // SAFETY: the record was claimed by this thread, and its number is not known
            // to anybody else.
            unsafe {
                AtomicU8::from_ptr(&raw mut (*self.record(number)).depth)
                    .store(0, Ordering::Relaxed);
            }
        }
    }
}

fn hash(frames: &[u64]) -> u32 {
    let mix = |h: u64, &f: &u64| (h.rotate_left(5) ^ f).wrapping_mul(0x517c_c1b7_2722_0a95);
    (frames.iter().fold(0, mix) >> 32) as u32
}
