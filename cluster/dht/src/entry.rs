//! A key and its value in a block of a part's heap.
//!
//! ```text
//!   word 0   the hash
//!   word 1   32 bits length of the value | 32 bits length of the key
//!   ...      the key, the value
//! ```
//!
//! An entry is written before a slot refers to it, and is never changed: a new value is a new
//! entry. When a reader copies a block, the block may already belong to something else, and the
//! reader gets arbitrary bytes. So the reader compares the lengths with the number of words that it
//! read. The bucket's version says whether the slot still referred to this entry.

use syncline_fabric::{Dead, Fabric, Position};

use crate::key::Hash;
use crate::layout::{LONG, Slot};

const HEAD: usize = 16;
/// The most words of an entry that are read without allocating.
const FEW: usize = 32;

/// The size of an entry in bytes.
pub(crate) fn bytes(key: &[u8], value: &[u8]) -> usize {
    (HEAD + key.len() + value.len()).next_multiple_of(8)
}

/// Writes an entry to a buffer.
pub(crate) fn write(into: &mut Vec<u8>, hash: Hash, key: &[u8], value: &[u8]) {
    let lengths = (value.len() as u64) << 32 | key.len() as u64;
    into.clear();
    into.reserve(bytes(key, value));
    into.extend_from_slice(&hash.0.to_ne_bytes());
    into.extend_from_slice(&lengths.to_ne_bytes());
    into.extend_from_slice(key);
    into.extend_from_slice(value);
    into.resize(into.len().next_multiple_of(8), 0);
}

/// A buffer into which entries are read.
pub(crate) struct Buffer {
    few: [u64; FEW],
    many: Vec<u64>,
    words: usize,
}

impl Buffer {
    pub fn new() -> Buffer {
        Buffer { few: [0; FEW], many: Vec::new(), words: 0 }
    }

    /// Reads the entry of a slot.
    #[inline]
    pub fn read(&mut self, fabric: &impl Fabric, rank: usize, slot: Slot) -> Result<(), Dead> {
        let at = slot.entry(rank);
        self.words = slot.words();
        if self.words <= FEW {
            return fabric.get(at, bytemuck::cast_slice_mut(&mut self.few[..self.words]));
        }
        self.read_many(fabric, at)
    }

    #[cold]
    fn read_many(&mut self, fabric: &impl Fabric, at: Position) -> Result<(), Dead> {
        if self.words == LONG {
            fabric.get(at, bytemuck::cast_slice_mut(&mut self.few[..HEAD / 8]))?;
            let (key, value) = lengths(self.few[1]);
            // If the block was reused meanwhile, the lengths may have any value, so nothing is read
            // beyond the part.
            let bytes = (HEAD + key + value).next_multiple_of(8).min(fabric.bytes() - at.at);
            self.words = bytes / 8;
        }
        self.many.resize(self.words.max(self.many.len()), 0);
        fabric.get(at, bytemuck::cast_slice_mut(&mut self.many[..self.words]))
    }

    fn all(&self) -> &[u64] {
        if self.words <= FEW { &self.few[..self.words] } else { &self.many[..self.words] }
    }

    /// The key and the value; `None` if the bytes that were read are not an entry.
    #[inline]
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        let words = self.all();
        let (key, value) = lengths(*words.get(1)?);
        let bytes = bytemuck::cast_slice::<_, u8>(words);
        let key_end = HEAD + key;
        Some((bytes.get(HEAD..key_end)?, bytes.get(key_end..key_end + value)?))
    }

    /// The value, if this entry has this key.
    #[inline]
    pub fn value_of(&self, hash: Hash, key: &[u8]) -> Option<&[u8]> {
        if *self.all().first()? != hash.0 {
            return None;
        }
        self.entry().and_then(|(found, value)| (found == key).then_some(value))
    }
}

fn lengths(word: u64) -> (usize, usize) {
    (word as u32 as usize, (word >> 32) as usize)
}

/// The hash of the key whose entry a slot refers to.
pub(crate) fn hash(fabric: &impl Fabric, rank: usize, slot: Slot) -> Result<Hash, Dead> {
    let mut word = [0; 8];
    fabric.get(slot.entry(rank), &mut word)?;
    Ok(Hash(u64::from_ne_bytes(word)))
}
