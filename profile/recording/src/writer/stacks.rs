//! Stores call stacks, each once per file.
//!
//! A stack may be stored together with the positions of its return addresses relative to the
//! innermost one, and with the distance from that one to the end of the thread's stack. At the next
//! call from the same call site and depth, the same return addresses usually lie at the same
//! positions. If so, the stack is the same, and that is known without unwinding it.

use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::file::File;
use super::stack_index::{NUMBERS, StackIndex, index_of_call};
use crate::layout::{STACK_BROKEN, STACK_CUT, STACK_FRAMES, StackRecord};

/// How many slots of the index are searched for a stack, from the slot of its hash on.
const REACH: usize = 64;

/// A stack to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    /// The return addresses, innermost first; at most [`STACK_FRAMES`] of them.
    pub frames: &'a [u64],
    /// Where the other return addresses lay: their distances in words from the first one; `None` if
    /// that is unknown.
    pub slots: Option<&'a [u32]>,
    /// Whether there were more frames.
    pub cut: bool,
    /// Whether unwinding ended before the stack did.
    pub broken: bool,
}

/// The distance in words, at least 1, from a call's return address to the end of the thread's
/// stack. `None` if the call is on another stack.
fn words_to_end(caller: *const usize, within: &Range<usize>) -> Option<u32> {
    let bytes = within.contains(&caller.addr()).then(|| within.end - caller.addr())?;
    u32::try_from(bytes.div_ceil(size_of::<usize>())).ok()
}

impl File {
    fn index(&self) -> &'static StackIndex {
        &self.family().stack_index
    }

    /// Stores the stack with which a call was made, unless it is stored already, and returns its
    /// number; 0 if there is no room. `caller` is the address at which the call's return address
    /// `ret` lies, and `within` has the bounds of the thread's stack.
    pub fn add_stack(
        &self,
        stack: &Stack<'_>,
        caller: *const usize,
        ret: usize,
        within: Range<usize>,
    ) -> u32 {
        let number = self.intern(stack, words_to_end(caller, &within));
        // Release pairs with the Acquire in `stack_of_call`, also in another process: a thread that
        // finds the number finds the frames.
        self.index().by_call[index_of_call(caller, ret)].store(number, Ordering::Release);
        number
    }

    /// The number of a call's stack, if that was stored for an equal call before, perhaps by
    /// another process of the file; otherwise `None`.
    ///
    /// # Safety
    /// Same requirements as [`File::is_stack_of`].
    pub unsafe fn stack_of_call(
        &self,
        caller: *const usize,
        ret: usize,
        within: Range<usize>,
    ) -> Option<u32> {
        let number = self.index().by_call[index_of_call(caller, ret)].load(Ordering::Acquire);
        // SAFETY: by this function's own condition.
        unsafe { self.is_stack_of(number, caller, within).then_some(number) }
    }

    /// Whether the stack of this number is that of a call: all its return addresses lie at the same
    /// positions.
    ///
    /// # Safety
    /// `caller` points to the return address of a call that this thread has not returned from.
    /// `within` has the bounds of the thread's stack, and memory is mapped from `caller` to their
    /// end.
    pub unsafe fn is_stack_of(
        &self,
        number: u32,
        caller: *const usize,
        within: Range<usize>,
    ) -> bool {
        let Some((first, to_end, mut others)) = self.positions(number) else { return false };
        let is_at = |(slot, frame): (u32, u64)| {
            let at = caller.wrapping_add(slot as usize);
            // SAFETY: from a call's frame to the end of the thread's stack, memory is mapped.
            at.addr() < within.end && unsafe { *at } as u64 == frame
        };
        // If the distance to the end of the stack is the same, there can't be further frames after
        // the last one.
        words_to_end(caller, &within) == Some(to_end)
            // SAFETY: by this function's own condition.
            && unsafe { *caller } as u64 == first
            && others.all(is_at)
    }

    /// The distance in words from a call's return address to the first other return address that a
    /// stack has and the call has not. Only the next `near` ones are compared. `None` if these are
    /// equal, or if it is not known where they lie.
    ///
    /// # Safety
    /// Same requirements as [`File::is_stack_of`].
    pub unsafe fn differs_at(
        &self,
        number: u32,
        caller: *const usize,
        within: Range<usize>,
        near: usize,
    ) -> Option<u32> {
        let to_end = words_to_end(caller, &within)?;
        let (_, to_end_then, mut others) = self.positions(number)?;
        if to_end != to_end_then {
            return None;
        }
        let differs = |&(slot, frame): &(u32, u64)| {
            // SAFETY: from a call's frame to the end of the thread's stack, memory is mapped.
            slot < to_end && unsafe { *caller.wrapping_add(slot as usize) } as u64 != frame
        };
        others.by_ref().take(near).find(differs).map(|(slot, _)| slot)
    }

    /// A stack's first return address, its distance from the end of the thread's stack, and the
    /// other return addresses, each with its distance from the first one, in words. `None` if these
    /// are not known.
    fn positions(&self, number: u32) -> Option<(u64, u32, impl Iterator<Item = (u32, u64)>)> {
        let slots = self.index().slots.get(number as usize).filter(|_| number != 0)?;
        let to_end = slots[0].load(Ordering::Relaxed);
        // SAFETY: the number was read from the index or a row, so its stack is stored and does not
        // change.
        let (frames, depth) = unsafe {
            let stack = &*self.stack(number);
            (&stack.frames, usize::from(stack.depth))
        };
        let others = slots[1..].iter().zip(frames.get(1..depth)?);
        let read = |(slot, &frame): (&AtomicU32, &u64)| (slot.load(Ordering::Relaxed), frame);
        (to_end != 0).then(|| (frames[0], to_end, others.map(read)))
    }

    /// Finds the number of a stack, or stores it if it is new; 0 if there is no room. `to_end` is
    /// the result of [`words_to_end`] for its call.
    fn intern(&self, stack: &Stack<'_>, to_end: Option<u32>) -> u32 {
        let hash = hash(stack.frames);
        let mut mine = None;
        for step in 0..REACH {
            let entry = &self.index().numbers[(hash as usize + step) % NUMBERS];
            let mut number = entry.load(Ordering::Acquire);
            if number == 0 {
                let fresh = match mine {
                    Some(number) => number,
                    None => self.store(stack, hash, to_end),
                };
                if fresh == 0 {
                    return 0;
                }
                mine = Some(fresh);
                // Release pairs with the Acquire load above: a thread that finds the number finds
                // the frames.
                match entry.compare_exchange(0, fresh, Ordering::Release, Ordering::Acquire) {
                    Ok(_) => return fresh,
                    Err(theirs) => number = theirs,
                }
            }
            if self.is_stored(number, stack, hash) {
                self.discard(mine);
                return number;
            }
        }
        mine.unwrap_or_else(|| self.store(stack, hash, to_end))
    }

    /// A pointer to the record of the stack of this number.
    fn stack(&self, number: u32) -> *mut StackRecord {
        // SAFETY: the header is mapped, and a region's offset does not change.
        let offset = unsafe { (*self.header()).stacks.offset };
        self.at(offset + u64::from(number) * size_of::<StackRecord>() as u64).cast()
    }

    /// Whether the stack of this number has these frames.
    fn is_stored(&self, number: u32, stack: &Stack<'_>, hash: u32) -> bool {
        // SAFETY: the number was read from the index, so its stack is stored and does not change.
        let stored = unsafe { &*self.stack(number) };
        stored.hash == hash
            && usize::from(stored.depth) == stack.frames.len()
            && stored.frames[..usize::from(stored.depth)] == *stack.frames
    }

    fn store(&self, stack: &Stack<'_>, hash: u32, to_end: Option<u32>) -> u32 {
        let Some((record, number)) = self.new_stack() else { return 0 };
        let frames = &stack.frames[..stack.frames.len().min(STACK_FRAMES)];
        if let Some(slots) = self.index().slots.get(number as usize)
            && let (Some(others), Some(to_end)) = (stack.slots, to_end)
        {
            // Relaxed is enough: a thread that uses the number has either stored the stack itself
            // or found the number in the index with Acquire.
            slots[0].store(to_end, Ordering::Relaxed);
            for (slot, &at) in slots[1..].iter().zip(others) {
                slot.store(at, Ordering::Relaxed);
            }
        }
        // SAFETY: the record was claimed by this thread and has disk space.
        unsafe {
            (*record).hash = hash;
            (*record).flags =
                (u8::from(stack.cut) * STACK_CUT) | (u8::from(stack.broken) * STACK_BROKEN);
            (&mut (*record).frames)[..frames.len()].copy_from_slice(frames);
            // Release: a reader of the file that finds a depth finds the frames.
            AtomicU8::from_ptr(&raw mut (*record).depth)
                .store(frames.len() as u8, Ordering::Release);
        }
        number
    }

    /// Empties the record of this number, which is not needed because another thread stored the
    /// same stack at the same time.
    fn discard(&self, number: Option<u32>) {
        if let Some(number) = number {
            // SAFETY: the record was claimed by this thread, and no other thread knows its number.
            unsafe {
                AtomicU8::from_ptr(&raw mut (*self.stack(number)).depth)
                    .store(0, Ordering::Relaxed);
            }
        }
    }
}

fn hash(frames: &[u64]) -> u32 {
    let mix = |h: u64, &f: &u64| (h.rotate_left(5) ^ f).wrapping_mul(0x517c_c1b7_2722_0a95);
    (frames.iter().fold(0, mix) >> 32) as u32
}
