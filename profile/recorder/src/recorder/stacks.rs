//! Call stacks: captured for new rows, stored once per file.
//!
//! To unwind takes half a microsecond. Where the return addresses of a stack lay, relative to the
//! innermost one, is kept with it: from one call to the next at the same place and depth they mostly
//! still lie there, and then the stack is the same, frame by frame.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use syncline_recording::layout::{STACK_BROKEN, STACK_CUT, STACK_FRAMES, StackRecord};

use crate::recorder::{self, Recorder};
use crate::tls;
use crate::unwind::tools::{Cache, Registers};
use crate::unwind::{self, Trace};

/// Places of the index: twice the stacks that a file holds.
const PLACES: usize = 131_072;
/// Places of the index by calls.
const CALLS: usize = 8192;
/// How far from its place a stack is looked for.
const REACH: usize = 64;

/// Finds the number of a stack by its frames. All zero is the empty index.
pub struct StackIndex {
    numbers: [AtomicU32; PLACES],
    /// Where the frames of each stack lay when it was stored: words from the innermost return
    /// address. The first, which is 0, has the number of the others instead; 0 if they are not
    /// known.
    slots: [[AtomicU32; STACK_FRAMES]; PLACES / 2],
    /// The stack that a call was last made with, by its return address and where that lay. The
    /// children of a server mostly make the same calls.
    by_call: [AtomicU32; CALLS],
}

fn call(caller: *const usize, ret: usize) -> usize {
    let mixed = (caller.addr() ^ ret.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - CALLS.ilog2())
}

/// The number of the stack of a function of ours from the frame that `ret` returns to, which
/// `caller` points to; 0 if it can't be stored. Without a cache it has one frame.
pub fn capture(
    from: Registers,
    caller: *const usize,
    ret: usize,
    cache: Option<&mut Cache>,
) -> u32 {
    let Some(recorder) = recorder::existing() else { return 0 };
    let mut trace = Trace::new(caller.addr());
    unwind::trace(recorder, from, ret, cache, &mut trace);
    let number = recorder.intern(&trace);
    // Release pairs with the Acquire in `known`, also in another process: the frames are there.
    recorder.index().by_call[call(caller, ret)].store(number, Ordering::Release);
    number
}

/// The stack of a call, if it was captured before for one like it, perhaps in another process of the
/// file.
///
/// # Safety
/// As of [`is_here`].
pub unsafe fn known(caller: *const usize, ret: usize) -> Option<u32> {
    let recorder = recorder::existing()?;
    let number = recorder.index().by_call[call(caller, ret)].load(Ordering::Acquire);
    // SAFETY: by this function's own condition.
    unsafe { is_here(number, caller).then_some(number) }
}

/// Whether a stack is that of a call: its return addresses all lie where they did.
///
/// # Safety
/// `caller` points to the return address of a call that the thread is in.
pub unsafe fn is_here(number: u32, caller: *const usize) -> bool {
    let Some(recorder) = recorder::existing().filter(|_| number != 0) else { return false };
    let Some(slots) = recorder.index().slots.get(number as usize) else {
        return false;
    };
    // SAFETY: a number that a row has is that of a stored stack, which does not change.
    let frames = unsafe { &(*recorder.record(number)).frames };
    let others = slots[0].load(Ordering::Relaxed) as usize;
    let (low, high) = (tls::stack_low(), tls::stack_high());
    let is_at = |(slot, &frame): (&AtomicU32, &u64)| {
        let at = caller.wrapping_add(slot.load(Ordering::Relaxed) as usize);
        // SAFETY: from a call's frame to its end, a thread's stack is mapped.
        at.addr() < high && unsafe { *at } as u64 == frame
    };
    others > 0
        && low <= caller.addr()
        // SAFETY: by this function's own condition.
        && unsafe { *caller } as u64 == frames[0]
        && slots[1..].iter().zip(&frames[1..]).take(others).all(is_at)
}

impl Recorder {
    fn index(&self) -> &'static StackIndex {
        &self.file().family().stack_index
    }

    /// Stores a stack, or finds it stored.
    fn intern(&self, trace: &Trace) -> u32 {
        let hash = hash(trace.frames());
        let mut mine = None;
        for step in 0..REACH {
            let place = &self.index().numbers[(hash as usize + step) % PLACES];
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
        if let Some(slots) = self.index().slots.get(number as usize)
            && let Some(others) = trace.slots()
        {
            // Relaxed: who has the number of a stack, has it through the index or made it.
            slots[0].store(others.len() as u32, Ordering::Relaxed);
            for (slot, &at) in slots[1..].iter().zip(others) {
                slot.store(at, Ordering::Relaxed);
            }
        }
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
