//! An address set: words of eight bytes, each with the bytes that were read and written.

use syncline_trace::layout::{NONE, PLAINLY_READ, PLAINLY_WRITTEN, WordRecord};

/// The number of slots of an empty set's index.
const SMALLEST: usize = 256;

/// The most words of a set, which are 1 MiB of memory. A section that fills whole buffers would
/// have a larger set, which adds no information and costs as much as a thousand sections.
const LARGEST: usize = 1 << 17;

/// If an access is outside of the known covered range, the range is extended by at most this many
/// further words.
const AHEAD: usize = 32;

/// How memory is accessed.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// All bits are set if the memory is read, otherwise none.
    read: u8,
    /// All bits are set if the memory is written, otherwise none.
    written: u8,
    /// The flags that the word's record gets.
    flags: u16,
}

impl How {
    /// An access by an instruction of the program. A write of an atomic instruction is not a plain
    /// write. A read that only gives a jump its target is not a plain read.
    pub fn new(read: bool, write: bool, atomic: bool, jump: bool) -> How {
        let all = |is: bool| if is { 0xff } else { 0 };
        let plainly = |is: bool, flag: u16| if is { flag } else { 0 };
        How {
            read: all(read),
            written: all(write),
            flags: plainly(read && !jump, PLAINLY_READ)
                | plainly(write && !atomic, PLAINLY_WRITTEN),
        }
    }

    /// Whether an access of this kind to all bytes of a word would add nothing to the word's
    /// record.
    #[inline]
    fn is_all_in(self, record: &WordRecord) -> bool {
        self.read & !record.read | self.written & !record.written == 0
            && self.flags & !record.flags == 0
    }

    /// An access by the kernel, which either writes or reads.
    pub fn by_kernel(writes: bool) -> How {
        How::new(!writes, writes, false, false)
    }
}

/// An address set, as the top of this file describes it.
pub struct Words {
    /// Whether accesses were left out, since the set would have become too large.
    pub is_cut: bool,
    /// A hash table with open addressing: each slot has an index in `records` plus 1, or 0 if it is
    /// free. Memory that a large set needed is kept for the next large set. Smaller sets use only
    /// its beginning, so that they take little room in the caches.
    index: Vec<u32>,
    /// The number of slots of the index that are in use, a power of two; the others are 0.
    slots: usize,
    records: Vec<WordRecord>,
}

/// The index of the word that an instruction accessed last. Often the instruction accesses the same
/// word again, or the word that was added to the set next.
#[derive(Clone, Copy)]
pub struct Hint(u32);

impl Hint {
    /// The instruction has accessed no word yet.
    pub const NONE: Hint = Hint(0);
}

/// A range of memory whose bytes are all in the set already, for accesses of one kind.
#[derive(Clone, Copy)]
pub struct Covered {
    start: u64,
    end: u64,
}

impl Covered {
    /// No range is known.
    pub const NOTHING: Covered = Covered { start: 0, end: 0 };

    /// Whether `bytes` bytes from `address` on are in the range.
    #[inline]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let before = address.wrapping_sub(self.start);
        let length = self.end - self.start;
        before < length && bytes <= length - before
    }

    /// The lowest and the highest address at which an access of `bytes` bytes is within the range.
    /// The range must be large enough for one.
    pub fn starts(&self, bytes: u64) -> (u64, u64) {
        (self.start, self.end - bytes)
    }
}

impl Words {
    /// An empty set.
    pub fn new() -> Words {
        Words { is_cut: false, index: vec![0; SMALLEST], slots: SMALLEST, records: Vec::new() }
    }

    /// The records of the set's words.
    pub fn records(&mut self) -> &mut [WordRecord] {
        &mut self.records
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.index[..self.slots].fill(0);
        self.slots = SMALLEST;
        self.records.clear();
        self.is_cut = false;
    }

    /// After an access, finds the range around it whose words are all in the set, accessed in the
    /// same way, and stores it in `covered`. If the words of the access itself are not found in the
    /// set, returns false and leaves `covered` unchanged.
    pub fn cover(
        &self,
        covered: &mut Covered,
        address: u64,
        bytes: u64,
        how: How,
        hint: Hint,
    ) -> bool {
        if covered.contains(address, bytes) {
            return true;
        }
        let mut start = address & !7;
        let Some(end) = address.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(8))
        else {
            return false;
        };
        let is_full = |number: usize, word: u64| {
            let record = self.records.get(number);
            record.is_some_and(|record| record.address == word && how.is_all_in(record))
        };
        // Only words that were added to the set in succession are found.
        let last = hint.0 as usize;
        let count = ((end - start) / 8) as usize;
        if last + 1 < count || !(0..count).all(|n| is_full(last - n, end - 8 * (n as u64 + 1))) {
            return false;
        }
        let mut end = end;
        for ahead in 1..=AHEAD {
            if end == covered.start {
                end = covered.end;
                break;
            }
            if !is_full(last + ahead, end) {
                break;
            }
            end += 8;
        }
        if covered.end == start {
            start = covered.start;
        }
        *covered = Covered { start, end };
        true
    }

    /// Adds an access to `bytes` bytes from `address` on, by the instruction at `by`.
    #[inline(always)]
    pub fn touch(&mut self, address: u64, bytes: u64, how: How, by: u64, hint: &mut Hint) {
        let within = address & 7;
        if bytes <= 8 - within && self.records.len() < LARGEST {
            let mask = (((1u32 << bytes) - 1) << within) as u8;
            add(self.record(address & !7, hint), mask, how, by);
        } else {
            self.touch_several(address, bytes, how, by, hint);
        }
    }

    fn touch_several(&mut self, address: u64, bytes: u64, how: How, by: u64, hint: &mut Hint) {
        if self.records.len() as u64 + bytes / 8 >= LARGEST as u64 {
            self.is_cut = true;
            return;
        }
        let end = address.wrapping_add(bytes);
        let mut at = address;
        while at != end {
            let word = at & !7;
            let count = (8 - (at - word)).min(end.wrapping_sub(at));
            let mask = (((1u32 << count) - 1) << (at - word)) as u8;
            add(self.record(word, hint), mask, how, by);
            at = at.wrapping_add(count);
        }
    }

    #[inline]
    fn record(&mut self, word: u64, hint: &mut Hint) -> &mut WordRecord {
        let is_at =
            |number: u32| self.records.get(number as usize).is_some_and(|r| r.address == word);
        if !is_at(hint.0) {
            hint.0 = if is_at(hint.0 + 1) { hint.0 + 1 } else { self.find(word) as u32 };
        }
        &mut self.records[hint.0 as usize]
    }

    fn slot(&self, word: u64) -> usize {
        // A multiplicative hash (Knuth, volume 3, section 6.4), from its high bits.
        let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - self.slots.trailing_zeros())) as usize
    }

    #[inline(never)]
    fn find(&mut self, word: u64) -> usize {
        let mut slot = self.slot(word);
        loop {
            match self.index[slot] {
                0 => break,
                n if self.records[n as usize - 1].address == word => return n as usize - 1,
                _ => slot = (slot + 1) & (self.slots - 1),
            }
        }
        self.records.push(WordRecord {
            address: word,
            reader: 0,
            writer: 0,
            object: NONE,
            read: 0,
            written: 0,
            flags: 0,
        });
        self.index[slot] = self.records.len() as u32;
        if self.records.len() * 2 > self.slots {
            self.grow();
        }
        self.records.len() - 1
    }

    fn grow(&mut self) {
        self.index[..self.slots].fill(0);
        self.slots *= 2;
        if self.index.len() < self.slots {
            self.index.resize(self.slots, 0);
        }
        for n in 0..self.records.len() {
            let mut slot = self.slot(self.records[n].address);
            while self.index[slot] != 0 {
                slot = (slot + 1) & (self.slots - 1);
            }
            self.index[slot] = n as u32 + 1;
        }
    }
}

/// Adds an access to bytes of a word. `mask` has a bit for each byte.
#[inline]
fn add(record: &mut WordRecord, mask: u8, how: How, by: u64) {
    let (read, written) = (mask & how.read, mask & how.written);
    let news = read & !record.read | written & !record.written;
    if news == 0 && how.flags & !record.flags == 0 {
        return;
    }
    record.read |= read;
    record.written |= written;
    record.flags |= how.flags;
    if read != 0 && record.reader == 0 {
        record.reader = by;
    }
    if written != 0 && record.writer == 0 {
        record.writer = by;
    }
}
