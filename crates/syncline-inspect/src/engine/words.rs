//! An address set: words of eight bytes, with the bytes that were read and written.

use syncline_trace::layout::{NONE, PLAINLY_READ, PLAINLY_WRITTEN, WordRecord};

/// Places of the index at first.
const SMALLEST: usize = 256;

/// Most words of a set: 1 MiB of memory. A section that fills whole buffers says nothing by more of
/// them, and costs as much as a thousand others.
const LARGEST: usize = 1 << 17;

/// How memory is accessed.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// It is read.
    pub read: bool,
    /// It is written.
    pub write: bool,
    /// By an atomic instruction: one that the processor locks.
    pub atomic: bool,
    /// By a jump or a call to where it says.
    pub jump: bool,
}

/// See the top of this file.
pub struct Words {
    /// Something was left out, since it would have become too large.
    pub is_cut: bool,
    /// Open addressing: place in `records` plus 1, or 0.
    index: Vec<u32>,
    records: Vec<WordRecord>,
    /// The place that was found last.
    last: usize,
}

impl Words {
    /// An empty set.
    pub fn new() -> Words {
        Words { is_cut: false, index: vec![0; SMALLEST], records: Vec::new(), last: 0 }
    }

    /// Its words.
    pub fn records(&mut self) -> &mut [WordRecord] {
        &mut self.records
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.records.clear();
        self.is_cut = false;
        self.last = 0;
        if self.index.len() > 4 * SMALLEST {
            self.index = vec![0; SMALLEST];
        } else {
            self.index.fill(0);
        }
    }

    /// Adds `bytes` bytes from `address` on.
    #[inline]
    pub fn touch(&mut self, address: u64, bytes: u64, how: How, by: u64) {
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
            let record = self.record(word);
            if how.read {
                record.read |= mask;
                record.flags |= if how.jump { 0 } else { PLAINLY_READ };
                if record.reader == 0 {
                    record.reader = by;
                }
            }
            if how.write {
                record.written |= mask;
                record.flags |= if how.atomic { 0 } else { PLAINLY_WRITTEN };
                if record.writer == 0 {
                    record.writer = by;
                }
            }
            at = at.wrapping_add(count);
        }
    }

    fn record(&mut self, word: u64) -> &mut WordRecord {
        if self.records.get(self.last).is_none_or(|r| r.address != word) {
            self.last = self.find(word);
        }
        &mut self.records[self.last]
    }

    fn place(&self, word: u64) -> usize {
        // A multiplicative hash (Knuth, volume 3, section 6.4), from its high bits.
        let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (64 - self.index.len().trailing_zeros())) as usize
    }

    fn find(&mut self, word: u64) -> usize {
        let mut place = self.place(word);
        loop {
            match self.index[place] {
                0 => break,
                n if self.records[n as usize - 1].address == word => return n as usize - 1,
                _ => place = (place + 1) & (self.index.len() - 1),
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
        self.index[place] = self.records.len() as u32;
        if self.records.len() * 2 > self.index.len() {
            self.grow();
        }
        self.records.len() - 1
    }

    fn grow(&mut self) {
        self.index = vec![0; self.index.len() * 2];
        for n in 0..self.records.len() {
            let mut place = self.place(self.records[n].address);
            while self.index[place] != 0 {
                place = (place + 1) & (self.index.len() - 1);
            }
            self.index[place] = n as u32 + 1;
        }
    }
}
