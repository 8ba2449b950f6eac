//! The write set of a transaction: writes are kept aside until it commits, so that an attempt that
//! fails has changed nothing. A transaction that runs [alone](super::serial) does the reverse: it
//! writes in place, and keeps the earlier values here.
//!
//! A transaction that reads a cell that it has written finds the value here. Most reads are of
//! other cells, and most transactions write little: a few entries are searched one by one; with
//! more, a filter of 64 bits answers most searches; with many, there is an index.
//!
//! Entries point to cells; the code that adds one promises that the cell lives. So only this
//! module's parent adds, changes, copies and clears entries. An engine only reads those that
//! [`Engine::commit`](super::Engine::commit) gets, and `Engine` is an unsafe trait.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::Cell;
use core::mem::swap;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, Release};

use crate::memory::{Long, LongMemory};

/// Up to `FEWEST` entries are searched without asking the filter, which would cost as much.
const FEWEST: usize = 3;
/// Up to `FEW` entries are searched one by one, unless the filter excludes the cell. They fill
/// about four lines.
const FEW: usize = 8;

/// The value that a variable is to get.
pub trait Install: 'static {
    /// Exchanges the variable's value with this one. Runs none of the user's code.
    fn install(&mut self);
    /// An entry for the same variable, with the value that the variable has now.
    fn present(&self) -> Box<dyn Install>;
    /// A second entry for the same variable, with the same value.
    fn again(&self) -> Box<dyn Install>;
    /// This entry as an `Any`, to get back its type.
    fn any(&mut self) -> &mut dyn Any;
}

/// One cell's entry. It can neither be copied nor moved out of [`Writes`], which would let it
/// outlive its cell, nor be changed to refer to another cell:
///
/// ```compile_fail,E0616
/// use core::ptr::NonNull;
/// use syncline::{memory::Native, stm::writes::Write};
/// fn lead(write: &mut Write<Native>) {
///     write.stamp = NonNull::dangling();
/// }
/// ```
/// ```compile_fail,E0277
/// use syncline::{memory::Native, stm::writes::{Write, Writes}};
/// fn take(writes: &Writes<Native>) -> Write<Native> {
///     Clone::clone(&writes.entries()[0])
/// }
/// ```
/// ```compile_fail,E0596
/// use syncline::{memory::Native, stm::writes::Writes};
/// fn exchange(ours: &mut Writes<Native>, theirs: &mut Writes<Native>) {
///     core::mem::swap(&mut ours.entries()[0], &mut theirs.entries()[0]);
/// }
/// ```
pub struct Write<M: LongMemory> {
    /// The cell's stamp, which identifies the cell.
    stamp: NonNull<M::Long>,
    /// The stamp's value when it was locked.
    pub locked_at: Cell<u64>,
    /// The word to write, or `None` if an object is installed instead.
    word: Option<NonNull<M::Long>>,
    /// The new value of the word, or the index of the object.
    bits: Cell<u64>,
}

impl<M: LongMemory> Write<M> {
    /// The cell's stamp.
    ///
    /// ```
    /// use syncline::{memory::{Long, Native}, stm::writes::Writes};
    /// let writes = Writes::<Native>::default();
    /// assert!(writes.entries().iter().all(|write| write.stamp().load(Relaxed) == 0));
    /// # use core::sync::atomic::Ordering::Relaxed;
    /// ```
    #[inline(always)]
    pub fn stamp(&self) -> &M::Long {
        // SAFETY: the code that added the entry has promised that the cell lives.
        unsafe { self.stamp.as_ref() }
    }

    /// The word to write, or `None` if an object is installed instead.
    #[inline(always)]
    fn word(&self) -> Option<&M::Long> {
        // SAFETY: as above.
        self.word.map(|word| unsafe { word.as_ref() })
    }

    /// Swaps the word with the kept value.
    fn exchange(&self) {
        if let Some(word) = self.word() {
            // Relaxed: only the thread that is alone writes. Release: as in `Writes::overwrite`.
            let bits = word.load(Relaxed);
            word.store(self.bits.replace(bits), Release);
        }
    }

    fn again(&self) -> Self {
        let Self { stamp, word, .. } = *self;
        Self { stamp, locked_at: self.locked_at.clone(), word, bits: self.bits.clone() }
    }
}

/// All that a transaction is going to write, each cell once. If the transaction writes in place,
/// the entries have the earlier values instead, and a cell may have several entries while there are
/// few.
pub struct Writes<M: LongMemory> {
    entries: Vec<Write<M>>,
    objects: Vec<Box<dyn Install>>,
    /// Has the [bit](filter_bit) of each cell set, if there are more than [`FEWEST`] entries: a
    /// cell whose bit is not set has no entry.
    filter: u64,
    /// Used for more than [`FEW`] entries: indices of entries plus one, or 0, by hash. At most half
    /// full.
    index: Vec<u32>,
}

impl<M: LongMemory> Default for Writes<M> {
    fn default() -> Self {
        Self { entries: Vec::new(), objects: Vec::new(), filter: 0, index: Vec::new() }
    }
}

/// The filter's bit for a cell: its address in units of 16 bytes, with higher bits mixed in, since
/// cells in an array of larger elements don't differ in the lowest bits. A multiplication would
/// spread them better, but compilers compute it in advance, even on paths that don't use the
/// filter.
#[inline(always)]
fn filter_bit<T>(stamp: NonNull<T>) -> u64 {
    let address = stamp.addr().get();
    1 << ((address >> 4 ^ address >> 10) & 63)
}

/// Spreads addresses, whose lowest bits are equal, over 64 bits.
#[inline(always)]
fn hash<T>(stamp: NonNull<T>) -> u64 {
    // 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4).
    (stamp.addr().get() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<M: LongMemory> Writes<M> {
    /// Whether there are no entries.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries.
    #[inline(always)]
    pub fn entries(&self) -> &[Write<M>] {
        &self.entries
    }

    /// All entries, in the order of their cells' addresses: if every commit locks in this order, no
    /// two commits wait for each other.
    #[inline]
    pub fn in_order(&mut self) -> &[Write<M>] {
        match &mut *self.entries {
            [] | [_] => {}
            [one, other] => {
                if one.stamp > other.stamp {
                    swap(one, other);
                }
            }
            entries => {
                if !entries.is_sorted_by_key(|write| write.stamp) {
                    self.sort();
                }
            }
        }
        &self.entries
    }

    #[inline(never)]
    fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|write| write.stamp);
        if self.entries.len() > FEW {
            self.index.fill(0);
            self.enter(0);
        }
    }

    /// The entry of a cell.
    #[inline(always)]
    pub fn find(&self, stamp: NonNull<M::Long>) -> Option<&Write<M>> {
        if self.entries.len() <= FEWEST {
            return self.entries.iter().find(|write| write.stamp == stamp);
        }
        if self.filter & filter_bit(stamp) == 0 {
            return None;
        }
        self.look_up(stamp)
    }

    #[inline(never)]
    fn look_up(&self, stamp: NonNull<M::Long>) -> Option<&Write<M>> {
        if self.entries.len() <= FEW {
            return self.entries.iter().find(|write| write.stamp == stamp);
        }
        let mut at = self.home(hash(stamp));
        loop {
            let entry = self.index[at].checked_sub(1)? as usize;
            if self.entries[entry].stamp == stamp {
                return Some(&self.entries[entry]);
            }
            at = (at + 1) % self.index.len();
        }
    }

    /// The value that is to be written to a cell of one word, if it has an entry.
    #[inline(always)]
    pub(super) fn word(&self, stamp: NonNull<M::Long>) -> Option<&Cell<u64>> {
        self.find(stamp).map(|write| &write.bits)
    }

    /// The value that is to be installed in a variable, if it has an entry.
    pub(super) fn object(&mut self, stamp: NonNull<M::Long>) -> Option<&mut dyn Install> {
        let object = self.find(stamp)?.bits.get() as usize;
        Some(&mut *self.objects[object])
    }

    /// Adds an entry for a word that has none.
    ///
    /// # Safety
    ///
    /// The stamp and the word live until the entries, and copies of them by [`again`](Self::again),
    /// are cleared. Even unsafe code can't call this outside of the parent module:
    ///
    /// ```compile_fail,E0624
    /// use syncline::stm::writes::Writes;
    /// fn write(writes: &mut Writes<syncline::memory::Native>, word: &std::sync::atomic::AtomicU64) {
    ///     unsafe { writes.add_word(word.into(), word.into(), 7) };
    /// }
    /// ```
    #[inline]
    pub(super) unsafe fn add_word(
        &mut self,
        stamp: NonNull<M::Long>,
        word: NonNull<M::Long>,
        bits: u64,
    ) {
        self.add(stamp, Some(word), bits);
    }

    /// Adds an entry for a variable that has none.
    ///
    /// # Safety
    ///
    /// The variable and its stamp live until the entries, and copies of them by
    /// [`again`](Self::again), are cleared.
    pub(super) unsafe fn add_object(&mut self, stamp: NonNull<M::Long>, object: Box<dyn Install>) {
        self.add(stamp, None, self.objects.len() as u64);
        self.objects.push(object);
    }

    /// Writes all values, words with Release ordering, and calls `written` after each.
    #[inline]
    pub fn install(&mut self, written: impl Fn(&Write<M>)) {
        for write in &self.entries {
            match write.word() {
                // Release: pairs with the Acquire of the read in `TCell::get`: a reader that sees
                // the value sees the stamp locked.
                Some(word) => word.store(write.bits.get(), Release),
                None => self.objects[write.bits.get() as usize].install(),
            }
            written(write);
        }
    }

    #[inline(always)]
    fn add(&mut self, stamp: NonNull<M::Long>, word: Option<NonNull<M::Long>>, bits: u64) {
        let (locked_at, bits) = (Cell::new(0), Cell::new(bits));
        self.entries.push(Write { stamp, locked_at, word, bits });
        if self.entries.len() > FEWEST {
            self.enter_last();
        }
    }

    /// Enters the last entry in the filter and in the index, and earlier entries that are not there
    /// yet.
    #[inline(never)]
    fn enter_last(&mut self) {
        let count = self.entries.len();
        let first = if count == FEWEST + 1 { 0 } else { count - 1 };
        let bits = self.entries[first..].iter().map(|write| filter_bit(write.stamp));
        self.filter |= bits.fold(0, |all, bit| all | bit);
        if count > FEW {
            self.index_last();
        }
    }

    #[cold]
    fn index_last(&mut self) {
        let count = self.entries.len();
        let first = if self.index.len() < 2 * count {
            self.index.clear();
            self.index.resize((4 * count).next_power_of_two(), 0);
            0
        } else if count == FEW + 1 {
            self.index.fill(0);
            0
        } else {
            count - 1
        };
        self.enter(first);
    }

    /// Enters the entries from this one on in the index, which has room for them.
    fn enter(&mut self, first: usize) {
        for entry in first..self.entries.len() {
            let mut at = self.home(hash(self.entries[entry].stamp));
            while self.index[at] != 0 {
                at = (at + 1) % self.index.len();
            }
            self.index[at] = entry as u32 + 1;
        }
    }

    /// The position in the index at which a search begins. The index's length is a power of two.
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.index.len() - 1)
    }

    /// Writes a word in place, and keeps its earlier value unless one is kept already.
    ///
    /// # Safety
    ///
    /// Same requirements as [`add_word`](Self::add_word), and this thread runs alone.
    #[inline]
    pub(super) unsafe fn overwrite(
        &mut self,
        stamp: NonNull<M::Long>,
        word: NonNull<M::Long>,
        bits: u64,
    ) {
        // SAFETY: our caller's promise.
        let to = unsafe { word.as_ref() };
        // If a cell is kept twice, it is restored twice, to its earliest value last. So a few
        // entries need no search.
        if self.entries.len() <= FEWEST || !self.keeps(stamp) {
            // Relaxed: only the thread that is alone writes.
            self.add(stamp, Some(word), to.load(Relaxed));
        }
        // Release: pairs with the Acquire of the read in `TCell::get`: a reader that sees the value
        // sees the version that the stamp was given.
        to.store(bits, Release);
    }

    /// Whether there is an entry of a cell. Out of line; otherwise compilers compute its operands
    /// in advance.
    #[inline(never)]
    fn keeps(&self, stamp: NonNull<M::Long>) -> bool {
        self.find(stamp).is_some()
    }

    /// Takes back what was written in place, the latest first. Runs none of the user's code. This
    /// thread runs alone.
    pub(super) fn take_back(&mut self) {
        self.entries.iter().rev().for_each(Write::exchange);
        self.objects.iter_mut().for_each(|object| object.install());
    }

    /// Writes the values of [`present`](Self::present) in place once more, after all writes were
    /// taken back, and keeps the values that they replace. Runs none of the user's code. This
    /// thread runs alone.
    pub(super) fn write_again(&mut self) {
        self.entries.iter().for_each(Write::exchange);
        self.objects.iter_mut().for_each(|object| object.install());
    }

    /// A copy of these writes with the values that the cells have now, for
    /// [`write_again`](Self::write_again).
    pub(super) fn present(&self) -> Self {
        let mut present = self.again();
        for write in &mut present.entries {
            // Relaxed: only the thread that is alone writes.
            let now = write.word().map(|word| word.load(Relaxed));
            write.bits.set(now.unwrap_or(write.bits.get()));
        }
        present.objects = self.objects.iter().map(|object| object.present()).collect();
        present
    }

    /// A copy of these writes, with copies of the values that are to be written.
    pub(super) fn again(&self) -> Self {
        Self {
            entries: self.entries.iter().map(Write::again).collect(),
            objects: self.objects.iter().map(|object| object.again()).collect(),
            filter: self.filter,
            index: self.index.clone(),
        }
    }

    /// Removes all entries and drops their values, which runs the user's code and may panic.
    pub(super) fn clear(&mut self) {
        self.clear_words();
        self.objects.clear();
    }

    /// Removes all entries; the values of variables remain until they are [cleared](Self::clear).
    #[inline]
    pub(super) fn clear_words(&mut self) {
        self.filter = 0;
        self.entries.clear();
    }

    /// Whether there are values to drop.
    #[inline]
    pub(super) fn has_objects(&self) -> bool {
        !self.objects.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use crate::memory::Native;

    #[test]
    fn few_and_many_are_found_again_also_after_clearing() {
        let stamps: Vec<AtomicU64> = (0..1000).map(AtomicU64::new).collect();
        let words: Vec<AtomicU64> = (0..1000).map(AtomicU64::new).collect();
        let mut writes = Writes::<Native>::default();
        for count in [3, 1000, 8, 9, 40, 0, 17] {
            writes.clear();
            for cell in (0..count).rev() {
                let stamp = NonNull::from(&stamps[cell]);
                assert!(writes.find(stamp).is_none());
                // SAFETY: both outlive the entries.
                unsafe { writes.add_word(stamp, NonNull::from(&words[cell]), cell as u64 + 7) };
                let found = writes.again().find(stamp).map(|write| write.stamp);
                assert_eq!(found, Some(stamp));
            }
            for (cell, stamp) in stamps.iter().enumerate() {
                let value = writes.word(NonNull::from(stamp)).map(Cell::get);
                assert_eq!(value, (cell < count).then_some(cell as u64 + 7));
            }
        }
        let sorted: Vec<_> = writes.in_order().iter().map(|write| write.stamp).collect();
        assert!(sorted.is_sorted());
        for (cell, stamp) in stamps.iter().enumerate() {
            let value = writes.word(NonNull::from(stamp)).map(Cell::get);
            assert_eq!(value, (cell < 17).then_some(cell as u64 + 7));
        }
        writes.install(|_| {});
        assert_eq!(words[16].load(Relaxed), 23);
    }

    #[test]
    fn what_is_written_in_place_several_times_is_taken_back_and_written_again() {
        let stamps: Vec<AtomicU64> = (0..20).map(AtomicU64::new).collect();
        let words: Vec<AtomicU64> = (0..20).map(AtomicU64::new).collect();
        let values = || words.iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>();
        let write = |writes: &mut Writes<Native>, cell: usize, value| {
            let (stamp, word) = (NonNull::from(&stamps[cell]), NonNull::from(&words[cell]));
            // SAFETY: both outlive the entries, and there is one thread.
            unsafe { writes.overwrite(stamp, word, value) };
        };
        for cells in [1, 2, 20] {
            let mut writes = Writes::<Native>::default();
            for value in 100..105 {
                (0..cells).for_each(|cell| write(&mut writes, cell, value));
            }
            // A cell has a few entries at most here.
            assert!(writes.entries().len() <= cells.max(FEWEST + 1));
            let (written, mut before) = (values(), writes.present());
            (0..cells).rev().for_each(|cell| write(&mut writes, cell, 7));
            assert!(stamps[..cells].iter().all(|stamp| writes.find(stamp.into()).is_some()));
            writes.take_back();
            assert_eq!(values(), (0..20).collect::<Vec<_>>());
            before.write_again();
            assert_eq!(values(), written);
            before.take_back();
            assert_eq!(values(), (0..20).collect::<Vec<_>>());
        }
    }
}
