//! The cache line in which messages travel, with two flags in it.
//!
//! ```text
//!   sent   written by the sender:    how many messages it has sent, when it last wrote here
//!   taken  written by the receiver:  how many it has taken (in a ring, a word elsewhere)
//!   slots  the messages, in turn the sender's and the receiver's
//! ```
//!
//! Each flag has one writer, so an ordinary store sets it, and no news is lost. A flag's number
//! counts in steps of [`STEP`]: bit 0 stays clear, as in all words that waiting policies wait for,
//! and bit 1 says that the flag's writer is [`GONE`]. Numbers wrap around; two that are compared
//! are less than 2^29 messages apart.
//!
//! Messages share a line, as many as fit into it. A message that doesn't fit into one line takes
//! several lines, and the first of these has the flags. One line, or the lines of a large message,
//! are a *unit*.
//!
//! Source: SSYNC (SOSP'13), section 4.1: libssmp's buffers of one line with a flag in it. Flags
//! that are numbers, and lines that small messages share, are new here.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};

use crate::memory::{Data, Memory};

/// How much each message adds to a flag's number.
pub const STEP: u32 = 4;
/// The bit that says that a flag's writer is gone. The flag's number does not change any more.
pub const GONE: u32 = 2;

/// A flag's number, without its two bits.
#[inline(always)]
pub fn number(flag: u32) -> u32 {
    flag & !(STEP - 1)
}

/// The flags of a unit.
#[derive(Default)]
pub struct Flags<M: Memory> {
    /// The sender's.
    pub sent: M::Word,
    /// The receiver's.
    pub taken: M::Word,
}

type Slot<T, M> = <M as Memory>::Data<MaybeUninit<T>>;

/// Bytes of a line.
const LINE: usize = 64;
/// Bytes of native flags.
const FLAGS: usize = 8;

/// How many messages of a type a unit holds. The number follows from the sizes in native memory. In
/// a model checker's memory a unit has more bytes, but holds the same number of messages.
pub const fn per_unit<T>() -> usize {
    let first = if align_of::<T>() > FLAGS { align_of::<T>() } else { FLAGS };
    let room = LINE.saturating_sub(first);
    match size_of::<T>() {
        // Messages without a size take no room; any number would do.
        0 => room,
        size if size <= room => room / size,
        _ => 1,
    }
}

/// A row of units.
pub struct Units<T, M: Memory> {
    start: NonNull<u8>,
    count: usize,
    owns: PhantomData<(T, Flags<M>)>,
}

// SAFETY: a message goes from one thread to another, which `T: Send` allows. No two threads use a
// message at the same time: the thread that writes a slot and the one that reads it take turns.
unsafe impl<T: Send, M: Memory> Sync for Units<T, M> {}
// SAFETY: as above.
unsafe impl<T: Send, M: Memory> Send for Units<T, M> {}

impl<T, M: Memory> Units<T, M> {
    /// The offset of the first slot in a unit.
    const SLOTS: usize = size_of::<Flags<M>>().next_multiple_of(align_of::<Slot<T, M>>());
    const ALIGNMENT: usize = {
        let (line, slot) = (LINE, align_of::<Slot<T, M>>());
        if slot > line { slot } else { line }
    };
    /// The distance in bytes from one unit to the next.
    const STRIDE: usize =
        (Self::SLOTS + per_unit::<T>() * size_of::<Slot<T, M>>()).next_multiple_of(Self::ALIGNMENT);

    /// A row of `count` empty units.
    ///
    /// # Panics
    ///
    /// If they take more memory than can be addressed.
    pub fn new(count: usize) -> Self {
        let layout = Self::layout(count).expect("a channel of this size is too large for memory");
        // SAFETY: the layout is not empty: flags are not zero-sized, and `count` is at least 1, as a
        // channel has room for a message.
        let start = NonNull::new(unsafe { alloc(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        let units = Self { start, count, owns: PhantomData };
        for unit in 0..count {
            // SAFETY: flags and slots are within the allocation, and no other thread uses them yet.
            unsafe {
                units.address(unit).cast().write(Flags::<M>::default());
                for slot in 0..per_unit::<T>() {
                    units.slot_place(unit, slot).write(Data::new(MaybeUninit::uninit()));
                }
            }
        }
        units
    }

    fn layout(count: usize) -> Option<Layout> {
        Layout::from_size_align(Self::STRIDE.checked_mul(count)?, Self::ALIGNMENT).ok()
    }

    /// How many units there are.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The next unit, if the units form a ring.
    #[inline(always)]
    pub fn after(&self, unit: usize) -> usize {
        if unit + 1 == self.count { 0 } else { unit + 1 }
    }

    #[inline(always)]
    fn address(&self, unit: usize) -> NonNull<u8> {
        debug_assert!(unit < self.count);
        // SAFETY: it is one of the units.
        unsafe { self.start.add(unit * Self::STRIDE) }
    }

    #[inline(always)]
    fn slot_place(&self, unit: usize, slot: usize) -> NonNull<Slot<T, M>> {
        debug_assert!(slot < per_unit::<T>());
        // SAFETY: it is within the unit.
        unsafe { self.address(unit).add(Self::SLOTS).cast().add(slot) }
    }

    /// The flags of a unit, whose number must be less than `count`.
    #[inline(always)]
    pub fn flags(&self, unit: usize) -> &Flags<M> {
        // SAFETY: written in `new`.
        unsafe { self.address(unit).cast().as_ref() }
    }

    /// Writes a message.
    ///
    /// # Safety
    ///
    /// The slot exists, is empty, and is the caller's.
    #[inline(always)]
    pub unsafe fn write(&self, unit: usize, slot: usize, message: T) {
        // SAFETY: the slot was written in `new`, and is the caller's.
        unsafe { self.slot_place(unit, slot).as_ref().with(|slot| (*slot).write(message)) };
    }

    /// Takes a message out.
    ///
    /// # Safety
    ///
    /// The slot exists, has a message, and is the caller's.
    #[inline(always)]
    pub unsafe fn read(&self, unit: usize, slot: usize) -> T {
        // SAFETY: as above; the message is there, and no thread reads it again. `look` and not
        // `with`: on a simulated machine `look` is a load, which does not have to own the line.
        unsafe { self.slot_place(unit, slot).as_ref().look(|slot| (*slot).assume_init_read()) }
    }
}

impl<T, M: Memory> Drop for Units<T, M> {
    fn drop(&mut self) {
        for unit in 0..self.count {
            // SAFETY: they were written in `new`, and no thread uses them any more.
            unsafe {
                self.address(unit).cast::<Flags<M>>().drop_in_place();
                for slot in 0..per_unit::<T>() {
                    self.slot_place(unit, slot).drop_in_place();
                }
            }
        }
        if let Some(layout) = Self::layout(self.count) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

/// The position of a channel's sender or receiver in the row of units.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Messages so far, as flags count them.
    pub number: u32,
    /// The unit of the next message.
    pub unit: usize,
    /// Its slot in that unit.
    pub slot: usize,
}

impl Position {
    /// Advances by a message, and returns whether that was the last one of its unit.
    #[inline(always)]
    pub fn advance<T, M: Memory>(&mut self, units: &Units<T, M>) -> bool {
        self.number = self.number.wrapping_add(STEP);
        self.slot += 1;
        if self.slot < per_unit::<T>() {
            return false;
        }
        self.slot = 0;
        self.unit = units.after(self.unit);
        true
    }
}
