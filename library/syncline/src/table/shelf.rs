//! The content of a bucket of SSYNC's table: keys on lines of their own, apart from the values.
//!
//! A search reads keys only. A line has seven keys, and a word that says which of them are there.
//! The lines follow each other, so that the processor fetches the next ones ahead. The only value
//! that a search touches is the one that it finds. Groups of values begin at a line, so a value of
//! 64 bytes is a line.

use core::mem::MaybeUninit;
use core::ptr;

use alloc::vec::Vec;

use crate::memory::{Data, Memory};

/// The number of keys in a line: as many as fit next to the word that says which keys are there.
const KEYS: usize = 7;

/// A line of keys.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Keys {
    /// Bit `i` says that there is a key at `i`.
    taken: u64,
    keys: [u64; KEYS],
}

impl Keys {
    const NONE: Self = Self { taken: 0, keys: [0; KEYS] };

    /// The slot of a key. Compares all keys, since that is quicker than stopping at the first
    /// match.
    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let equal = |mask, at| mask | u64::from(self.keys[at] == key) << at;
        let equal = (0..KEYS).fold(0, equal) & self.taken;
        (equal != 0).then(|| equal.trailing_zeros() as usize)
    }

    #[inline]
    fn vacancy(&self) -> Option<usize> {
        let at = self.taken.trailing_ones() as usize;
        (at < KEYS).then_some(at)
    }
}

/// The values of a line of keys; only those of taken keys are initialized.
#[repr(C, align(64))]
struct Values<V, M: Memory>([M::Data<MaybeUninit<V>>; KEYS]);

/// The position of a key: its line, and its slot in the line.
type Position = (usize, usize);

/// The content of a bucket.
pub(super) struct Shelf<V, M: Memory> {
    keys: Vec<M::Data<Keys>>,
    values: Vec<Values<V, M>>,
}

// SAFETY: it owns its values and their keys, which are numbers.
unsafe impl<V: Send, M: Memory> Send for Shelf<V, M> {}

/// One thread at a time accesses a shelf: the thread that holds the bucket's lock, that owns the
/// bucket as its server, or that drops the table.
impl<V, M: Memory> Shelf<V, M> {
    /// A shelf with room for `capacity` keys; more can be added. Memory is allocated for twice as
    /// many, and the second half is not touched before it is needed: so a bucket that happens to
    /// get more than its share does not move while its lock is held.
    pub(super) fn new(capacity: usize) -> Self {
        let lines = capacity.div_ceil(KEYS);
        let most = 2 * lines + 1;
        let mut shelf = Self { keys: Vec::with_capacity(most), values: Vec::with_capacity(most) };
        (0..lines).for_each(|_| shelf.grow());
        shelf
    }

    /// Makes room for one more line of keys.
    pub(super) fn grow(&mut self) {
        self.keys.push(Data::new(Keys::NONE));
        self.values.push(Values(core::array::from_fn(|_| Data::new(MaybeUninit::uninit()))));
    }

    #[inline]
    fn find(&self, key: u64) -> Option<Position> {
        self.keys.iter().enumerate().find_map(|(line, keys)| {
            // SAFETY: no other thread accesses the keys, as said above; the reference ends here.
            let at = unsafe { keys.look(|keys| (*keys).find(key)) };
            at.map(|at| (line, at))
        })
    }

    /// The position of the key. The error is a vacant position, or `None` if all are taken.
    #[inline]
    fn find_or_vacancy(&self, key: u64) -> Result<Position, Option<Position>> {
        let mut vacancy = None;
        for (line, keys) in self.keys.iter().enumerate() {
            // SAFETY: as in `find`.
            let (at, vacant) = unsafe { keys.look(|keys| ((*keys).find(key), (*keys).vacancy())) };
            if let Some(at) = at {
                return Ok((line, at));
            }
            vacancy = vacancy.or(vacant.map(|at| (line, at)));
        }
        Err(vacancy)
    }

    /// The result of a function on the key's value, or `None` if there is no such key.
    #[inline]
    pub(super) fn get<R>(&self, key: u64, read: impl FnOnce(&V) -> R) -> Option<R> {
        let (line, at) = self.find(key)?;
        // SAFETY: no other thread accesses the value, which is there, as its key is.
        Some(unsafe { self.values[line].0[at].look(|value| read((*value).assume_init_ref())) })
    }

    /// Puts a value in, or replaces the one that is there and returns it. If there is no room,
    /// returns the value as the error.
    #[inline]
    pub(super) fn put(&self, key: u64, value: V) -> Result<Option<V>, V> {
        let (line, at) = match self.find_or_vacancy(key) {
            Ok((line, at)) => {
                let slot = &self.values[line].0[at];
                // SAFETY: no other thread accesses the value, which is there, as its key is.
                return Ok(Some(unsafe { slot.with(|old| ptr::replace(old.cast(), value)) }));
            }
            Err(Some(vacancy)) => vacancy,
            Err(None) => return Err(value),
        };
        // SAFETY: no other thread accesses the value, and there is none.
        unsafe { self.values[line].0[at].with(|slot| slot.cast::<V>().write(value)) };
        let enter = |keys: *mut Keys| {
            // SAFETY: no other thread accesses the keys.
            let keys = unsafe { &mut *keys };
            keys.keys[at] = key;
            keys.taken |= 1 << at;
        };
        // SAFETY: as above.
        unsafe { self.keys[line].with(enter) };
        Ok(None)
    }

    /// Removes a key, and returns its value.
    #[inline]
    pub(super) fn remove(&self, key: u64) -> Option<V> {
        let (line, at) = self.find(key)?;
        // SAFETY: no other thread accesses the keys.
        unsafe { self.keys[line].with(|keys| (*keys).taken &= !(1 << at)) };
        // SAFETY: no other thread accesses the value, which is there, and which no thread finds any
        // more.
        Some(unsafe { self.values[line].0[at].look(|value| (*value).assume_init_read()) })
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.keys
            .iter()
            // SAFETY: no other thread accesses the keys.
            .map(|keys| unsafe { keys.look(|keys| (*keys).taken.count_ones()) as usize })
            .sum()
    }
}

/// Drops the remaining values, one after the other. If dropping one panics, the others are still
/// dropped, and the panic continues.
impl<V, M: Memory> Drop for Shelf<V, M> {
    fn drop(&mut self) {
        let mut values = Vec::new();
        for (keys, group) in self.keys.drain(..).zip(self.values.drain(..)) {
            let taken = keys.into_inner().taken;
            for (at, value) in group.0.into_iter().enumerate() {
                if taken & 1 << at != 0 {
                    // SAFETY: its key is there, and no thread finds it any more.
                    values.push(unsafe { value.into_inner().assume_init() });
                }
            }
        }
        // A vector continues dropping when one of its values has panicked.
        drop(values);
    }
}
