//! Look-ups: they find the bucket in which a key belongs, the key's slot there, and the bucket's
//! version.
//!
//! 1. A writer that changes one slot or one link does so by one atomic store, while it holds the
//!    bucket. So a reader that comes at that time sees the bucket before the store or after it, and
//!    does not wait.
//! 2. A writer that changes several slots marks the version as split, and readers wait.
//! 3. An entry's block is freed after the version has changed. So if the version is the same before
//!    and after a reader copies an entry, that entry was the slot's entry throughout.
//! 4. A writer looks up without holding the bucket, unless many tries have failed. The writer locks
//!    the bucket by an exchange of the version that it has seen. If the exchange succeeds,
//!    everything that the writer has seen is still valid, and the writer holds the bucket for only
//!    two stores.

use syncline_fabric::{Dead, Fabric, Position};

use crate::entry::Buffer;
use crate::key::Hash;
use crate::layout::{HEAD, Link, SLOTS, Slot, Version, WORDS};
use crate::mode::Mode;
use crate::table::Table;

/// A key that is looked up.
#[derive(Clone, Copy)]
pub(crate) struct Key<'k> {
    pub bytes: &'k [u8],
    pub hash: Hash,
    pub home: usize,
}

/// A bucket, and the version with which it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub number: u64,
    pub place: Position,
    pub depth: u32,
    pub seen: Version,
}

/// The result of a look-up.
#[derive(Debug)]
pub(crate) struct Look {
    pub bucket: Bucket,
    /// The key's slot; `None` if the bucket does not have the key. The entry is in the buffer.
    pub found: Option<(Position, Slot)>,
    /// A vacant slot, and whether it is in the bucket's first line; `None` if no slot is vacant.
    pub vacancy: Option<(Position, bool)>,
    /// The bucket's last line and its link; valid only if the key was not found.
    pub last: (Position, Link),
}

/// Reads a line, except its first word with the version.
#[inline]
pub(crate) fn line(fabric: &impl Fabric, at: Position) -> Result<[u64; WORDS], Dead> {
    let mut words = [0; WORDS];
    fabric.get(at.plus(8), bytemuck::cast_slice_mut(&mut words[1..]))?;
    Ok(words)
}

/// The position of a slot in a line.
pub(crate) fn slot_place(line: Position, slot: usize) -> Position {
    line.plus(8 * (HEAD + slot))
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// The bucket in which keys with this hash belong, and the words of its first line. If its
    /// version says that the bucket is being split, everything else is invalid.
    #[inline]
    pub(crate) fn bucket(&self, home: usize, hash: Hash) -> Result<(Bucket, [u64; WORDS]), Dead> {
        let mut number = hash.bucket(self.rows.bits(home));
        loop {
            let place = self.rows.bucket(&self.fabric, home, number)?;
            let seen = Version(if M::FINE { self.fabric.load(place)? } else { 0 });
            let words = line(&self.fabric, place)?;
            match self.layout.depth(number, Link(words[1])) {
                Some(depth) if hash.bucket(depth) == number => {
                    return Ok((Bucket { number, place, depth, seen }, words));
                }
                Some(depth) => number = hash.bucket(depth),
                // The bucket was never used: its keys are in the bucket whose number lacks the
                // highest bit.
                None => number ^= 1 << number.ilog2(),
            }
        }
    }

    /// Looks a key up. The result is valid only if the bucket's version is the same afterwards.
    #[inline]
    pub(crate) fn look(&self, key: Key<'_>, buffer: &mut Buffer) -> Result<Look, Dead> {
        let (bucket, words) = self.bucket(key.home, key.hash)?;
        self.search(key, bucket, words, buffer)
    }

    #[inline]
    pub(crate) fn search(
        &self,
        key: Key<'_>,
        bucket: Bucket,
        mut words: [u64; WORDS],
        buffer: &mut Buffer,
    ) -> Result<Look, Dead> {
        let mut look = Look { bucket, found: None, vacancy: None, last: (bucket.place, Link(0)) };
        if bucket.seen.is_split() {
            return Ok(look);
        }
        let (tag, mut at) = (key.hash.tag(), bucket.place);
        loop {
            for number in 0..SLOTS {
                let slot = Slot(words[HEAD + number]);
                if slot.0 == 0 {
                    let is_first = at == bucket.place;
                    look.vacancy.get_or_insert((slot_place(at, number), is_first));
                } else if slot.tag() == tag {
                    buffer.read(&self.fabric, key.home, slot)?;
                    if buffer.value_of(key.hash, key.bytes).is_some() {
                        look.found = Some((slot_place(at, number), slot));
                        return Ok(look);
                    }
                }
            }
            look.last = (at, Link(words[1]));
            let Some(behind) = Link(words[1]).behind(key.home) else { return Ok(look) };
            at = behind;
            words = line(&self.fabric, at)?;
        }
    }

    /// Whether the data that was read from a bucket is valid: no writer has changed the bucket
    /// since its version was read.
    #[inline]
    pub(crate) fn unchanged(&self, bucket: &Bucket) -> Result<bool, Dead> {
        if !M::FINE {
            return Ok(true);
        }
        let now = Version(self.fabric.load(bucket.place)?);
        // Which rank holds the bucket does not matter (rule 1 of the module), since nothing is
        // freed before the version changes (rule 3).
        Ok(now.free() == bucket.seen.free() && !now.is_split() && !bucket.seen.is_split())
    }
}
