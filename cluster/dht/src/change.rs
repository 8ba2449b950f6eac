//! Reads and changes the value of a key. A change looks the key up and makes the new entry (a put
//! makes it first). Then it locks the bucket, stores to the key's slot, and releases the bucket.
//! Last, it frees the old entry's block.

use syncline_fabric::{Dead, Fabric, Position};

use crate::entry::{self, Buffer};
use crate::error::Error;
use crate::held::Held;
use crate::layout::Slot;
use crate::look::{Key, Look};
use crate::mode::Mode;
use crate::table::Table;
use crate::wait::Wait;

/// The approximate number of failed look-ups or changes after which a bucket is locked while it is
/// read.
const PATIENCE: u32 = 16;

/// The change to make to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The key gets the draft's value.
    Draft,
    /// The key has no value after the change.
    Nothing,
}

/// A new entry in its own block. The block is freed if no slot ever refers to the entry.
pub(crate) struct Draft<'t, F: Fabric, M: Mode<F>> {
    table: &'t Table<F, M>,
    key: Key<'t>,
    block: Option<(Position, usize)>,
    bytes: Vec<u8>,
}

impl<'t, F: Fabric, M: Mode<F>> Draft<'t, F, M> {
    pub fn new(table: &'t Table<F, M>, key: Key<'t>) -> Self {
        Draft { table, key, block: None, bytes: Vec::new() }
    }

    /// Writes the entry with this value to the part's heap.
    pub fn fill(&mut self, value: &[u8]) -> Result<(), Error> {
        if u32::try_from(value.len()).is_err() {
            return Err(Error::TooLong(value.len()));
        }
        let (table, home) = (self.table, self.key.home);
        let heap = table.layout.heap();
        entry::write(&mut self.bytes, self.key.hash, self.key.bytes, value);
        let bytes = self.bytes.len();
        if let Some((block, size)) = self.block
            && syncline_fabric::Heap::block(size) != syncline_fabric::Heap::block(bytes)
        {
            self.block = None;
            heap.give(&table.fabric, block, size)?;
        }
        let block = match self.block {
            Some((block, _)) => block,
            None => heap.take(&table.fabric, home, bytes)?,
        };
        self.block = Some((block, bytes));
        table.fabric.put(block, &self.bytes);
        table.fabric.flush(home)?;
        Ok(())
    }

    /// The new content of the key's slot.
    fn slot(&self) -> Slot {
        let (block, bytes) = self.block.expect("a draft that is used was filled");
        Slot::new(block, bytes / 8, self.key.hash.tag())
    }
}

impl<F: Fabric, M: Mode<F>> Drop for Draft<'_, F, M> {
    fn drop(&mut self) {
        if let Some((block, bytes)) = self.block {
            // If the block's rank is dead, there is nothing to free.
            let _ = self.table.layout.heap().give(&self.table.fabric, block, bytes);
        }
    }
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Looks a key up, and again if a change disturbed the look-up. Calls a function with the key's
    /// value, or with `None` if the key has no value.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        key: Key<'_>,
        then: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.mode.reading(key.home, || {
            let mut buffer = Buffer::new();
            let look = self.look(key, &mut buffer)?;
            let is_found = if self.unchanged(&look.bucket)? {
                look.found.is_some()
            } else {
                self.look_again(key, look, &mut buffer)?
            };
            let value = if is_found { buffer.value_of(key.hash, key.bytes) } else { None };
            Ok(then(value))
        })
    }

    /// Looks a key up again, after a change disturbed the look-up `first`. Returns whether the key
    /// has a value; if it has, its entry is in the buffer.
    #[cold]
    fn look_again(&self, key: Key<'_>, first: Look, buffer: &mut Buffer) -> Result<bool, Dead> {
        let (mut look, mut wait, mut looks) = (first, Wait::new(), 1);
        loop {
            if look.bucket.seen.is_split() {
                self.wait(&mut wait, &look.bucket)?;
            }
            if looks > PATIENCE {
                return self.look_held(key, buffer).map(|(look, _)| look.found.is_some());
            }
            look = self.look(key, buffer)?;
            if self.unchanged(&look.bucket)? {
                return Ok(look.found.is_some());
            }
            looks += 1;
        }
    }

    /// Locks the bucket before the look-up, so that changes by other ranks can't disturb the
    /// look-up for ever.
    #[cold]
    fn look_held(&self, key: Key<'_>, buffer: &mut Buffer) -> Result<(Look, Held<'_, F, M>), Dead> {
        let mut wait = Wait::new();
        loop {
            let (mut bucket, _) = self.bucket(key.home, key.hash)?;
            if bucket.seen.holder().is_some() {
                self.wait(&mut wait, &bucket)?;
                continue;
            }
            let Some(held) = self.hold(&bucket)? else { continue };
            bucket.seen = bucket.seen.free();
            let words = crate::look::line(&self.fabric, bucket.place)?;
            let look = self.search(key, bucket, words, buffer)?;
            return Ok((look, held));
        }
    }

    /// Changes the value of a key atomically, by a function of the old value. The function may be
    /// called again, if other ranks were faster or after this call has split the bucket. Returns
    /// whether the key had a value.
    pub(crate) fn change(
        &self,
        draft: &mut Draft<'_, F, M>,
        mut decide: impl FnMut(Option<&[u8]>, &mut Draft<'_, F, M>) -> Result<Next, Error>,
    ) -> Result<bool, Error> {
        let key = draft.key;
        self.mode.changing(key.home, || {
            let mut old = Buffer::new();
            let (mut wait, mut tries, mut has_room) = (Wait::new(), 0, true);
            loop {
                let (look, held) = if tries < PATIENCE {
                    (self.look(key, &mut old)?, None)
                } else {
                    let (look, held) = self.look_held(key, &mut old)?;
                    (look, Some(held))
                };
                if look.bucket.seen.holder().is_some() {
                    self.wait(&mut wait, &look.bucket)?;
                    continue;
                }
                tries += 1;
                let value = look.found.and_then(|_| old.value_of(key.hash, key.bytes));
                let next = decide(value, draft)?;
                let (place, word) = match (next, look.found) {
                    (Next::Nothing, None) => {
                        if held.is_some() || self.unchanged(&look.bucket)? {
                            return Ok(false);
                        }
                        continue;
                    }
                    (Next::Nothing, Some((place, _))) => (place, 0),
                    (Next::Draft, Some((place, _))) => (place, draft.slot().0),
                    (Next::Draft, None) => match self.vacancy(&look, has_room)? {
                        Vacancy::At(place) => (place, draft.slot().0),
                        // Both `split` and `link` lock the bucket only if it has not changed since
                        // it was read.
                        Vacancy::Split => {
                            drop(held);
                            has_room = self.split(&look.bucket)?;
                            continue;
                        }
                        Vacancy::None => {
                            drop(held);
                            match self.link(&look, draft.slot())? {
                                Some(true) => {
                                    draft.block = None;
                                    return Ok(false);
                                }
                                Some(false) => continue,
                                None => {
                                    let (rank, bytes) = (key.home, crate::layout::LINE);
                                    return Err(Error::Full { rank, bytes });
                                }
                            }
                        }
                    },
                };
                let held = match held {
                    Some(held) => Some(held),
                    None => self.hold(&look.bucket)?,
                };
                let Some(mut held) = held else { continue };
                held.store(place, word)?;
                // The version changes here, before the old entry is freed.
                drop(held);
                if next == Next::Draft {
                    draft.block = None;
                }
                if let Some((_, slot)) = look.found {
                    self.give_back(key, slot, &old)?;
                }
                return Ok(look.found.is_some());
            }
        })
    }

    /// Frees the block of a slot's entry. `old` is a copy of the entry, from which its size is
    /// calculated.
    fn give_back(&self, key: Key<'_>, slot: Slot, old: &Buffer) -> Result<(), Dead> {
        if let Some((key_bytes, value)) = old.entry() {
            let bytes = entry::bytes(key_bytes, value);
            self.layout.heap().give(&self.fabric, slot.entry(key.home), bytes)?;
        }
        Ok(())
    }

    /// Decides where to put a key that its bucket does not have: into a slot, into a half of the
    /// bucket after a split, or (`None`) into a new line.
    fn vacancy(&self, look: &Look, has_room: bool) -> Result<Vacancy, Dead> {
        if let Some((place, true)) = look.vacancy {
            return Ok(Vacancy::At(place));
        }
        let (rank, depth) = (look.bucket.place.rank, look.bucket.depth);
        let mut bits = self.rows.bits(rank);
        if bits <= depth {
            bits = self.rows.learn(&self.fabric, rank)?;
        }
        Ok(match look.vacancy {
            _ if bits > depth && has_room => Vacancy::Split,
            Some((place, _)) => Vacancy::At(place),
            None => Vacancy::None,
        })
    }
}

enum Vacancy {
    At(Position),
    Split,
    None,
}
