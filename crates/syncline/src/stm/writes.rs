//! What a transaction is going to write: kept aside until it commits, so that an attempt that
//! fails has changed nothing.
//!
//! A transaction that reads what it has written finds it here. Most reads are of other cells,
//! and most transactions write little: a filter of 64 bits answers most questions, few entries
//! are looked through, and for many there is an index.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Release;

use crate::memory::{Long, LongMemory};

/// Entries that are looked through one by one: a line or two of them.
const FEW: usize = 8;

/// The value that a variable is to get.
pub trait Install: 'static {
    /// Exchanges the variable's value with this. Runs none of the user's code.
    fn install(&mut self);
    /// The same, for the same variable.
    fn again(&self) -> Box<dyn Install>;
    /// To find the value again.
    fn any(&mut self) -> &mut dyn Any;
}

/// What is written.
pub enum Value<M: LongMemory> {
    /// A word and what it is to hold.
    Word(NonNull<M::Long>, u64),
    /// Anything else.
    Object(Box<dyn Install>),
}

/// One cell's entry.
pub struct Write<M: LongMemory> {
    /// The cell's stamp; says which cell.
    pub stamp: NonNull<M::Long>,
    /// What the stamp held when it was locked.
    pub locked_at: u64,
    /// The new value.
    pub value: Value<M>,
}

impl<M: LongMemory> Write<M> {
    /// The cell's stamp.
    #[inline(always)]
    pub fn stamp(&self) -> &M::Long {
        // SAFETY: whoever adds an entry keeps the cell alive until the entries are cleared.
        unsafe { self.stamp.as_ref() }
    }

    /// Writes the value, with Release ordering.
    #[inline]
    pub fn install(&mut self) {
        match &mut self.value {
            // Release: pairs with the Acquire of the reads in `TCell::get`: whoever sees the
            // value sees the stamp locked.
            // SAFETY: as in `stamp`.
            Value::Word(word, value) => unsafe { word.as_ref() }.store(*value, Release),
            Value::Object(object) => object.install(),
        }
    }
}

impl<M: LongMemory> Clone for Write<M> {
    fn clone(&self) -> Self {
        let value = match &self.value {
            Value::Word(word, value) => Value::Word(*word, *value),
            Value::Object(object) => Value::Object(object.again()),
        };
        Self { value, ..*self }
    }
}

/// All that a transaction is going to write, each cell once.
pub struct Writes<M: LongMemory> {
    entries: Vec<Write<M>>,
    /// A bit for each cell; a cell whose bit is not set is not here.
    filter: u64,
    /// If there are more than [`FEW`]: places of entries plus one, or 0, by hash. At most half
    /// full.
    index: Vec<u32>,
}

impl<M: LongMemory> Default for Writes<M> {
    fn default() -> Self {
        Self { entries: Vec::new(), filter: 0, index: Vec::new() }
    }
}

impl<M: LongMemory> Clone for Writes<M> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), filter: self.filter, index: self.index.clone() }
    }
}

/// Spreads addresses, whose lowest bits are equal, over 64 bits.
#[inline(always)]
fn hash<T>(stamp: NonNull<T>) -> u64 {
    // 2^64 divided by the golden ratio (Knuth, volume 3, section 6.4).
    (stamp.addr().get() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline(always)]
fn filter_bit(hash: u64) -> u64 {
    1 << (hash >> 58)
}

impl<M: LongMemory> Writes<M> {
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All of them, in the order in which the cells were first written.
    #[inline(always)]
    pub fn entries(&mut self) -> &mut [Write<M>] {
        &mut self.entries
    }

    /// The entry of a cell.
    #[inline(always)]
    pub fn find(&mut self, stamp: NonNull<M::Long>) -> Option<&mut Write<M>> {
        if self.entries.is_empty() {
            return None;
        }
        let hash = hash(stamp);
        if self.filter & filter_bit(hash) == 0 {
            return None;
        }
        self.look_up(stamp, hash)
    }

    #[inline]
    fn look_up(&mut self, stamp: NonNull<M::Long>, hash: u64) -> Option<&mut Write<M>> {
        if self.entries.len() <= FEW {
            return self.entries.iter_mut().find(|write| write.stamp == stamp);
        }
        let mut at = self.home(hash);
        loop {
            let place = self.index[at].checked_sub(1)? as usize;
            if self.entries[place].stamp == stamp {
                return Some(&mut self.entries[place]);
            }
            at = (at + 1) % self.index.len();
        }
    }

    /// Adds an entry for a cell that has none.
    #[inline]
    pub fn add(&mut self, stamp: NonNull<M::Long>, value: Value<M>) {
        self.filter |= filter_bit(hash(stamp));
        self.entries.push(Write { stamp, locked_at: 0, value });
        if self.entries.len() > FEW {
            self.enter_last();
        }
    }

    #[cold]
    fn enter_last(&mut self) {
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
        for place in first..count {
            let mut at = self.home(hash(self.entries[place].stamp));
            while self.index[at] != 0 {
                at = (at + 1) % self.index.len();
            }
            self.index[at] = place as u32 + 1;
        }
    }

    /// Where in the index a search begins. Its length is a power of two.
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.index.len() - 1)
    }

    /// Forgets all. Values are dropped, which is the user's code: it may panic.
    #[inline]
    pub fn clear(&mut self) {
        self.filter = 0;
        self.entries.clear();
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
            for place in 0..count {
                let stamp = NonNull::from(&stamps[place]);
                assert!(writes.find(stamp).is_none());
                writes.add(stamp, Value::Word(NonNull::from(&words[place]), place as u64 + 7));
                let found = writes.clone().find(stamp).map(|write| write.stamp);
                assert_eq!(found, Some(stamp));
            }
            for (place, stamp) in stamps.iter().enumerate() {
                let value = writes.find(NonNull::from(stamp)).map(|write| match write.value {
                    Value::Word(word, value) => {
                        assert_eq!(word, NonNull::from(&words[place]));
                        value
                    }
                    Value::Object(_) => panic!("only words were written"),
                });
                assert_eq!(value, (place < count).then_some(place as u64 + 7));
            }
        }
        writes.entries().iter_mut().for_each(Write::install);
        assert_eq!(words[16].load(Relaxed), 23);
    }
}
