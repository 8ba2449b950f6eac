//! Gives small numbers to words of memory. Everything else refers to words by these numbers.
//!
//! The index does not have words but lines of eight words. Sections touch neighbouring words, so
//! the line is often that of the access before, and need not be looked up. The words of a line have
//! consecutive numbers, including words that no thread touched.

use rustc_hash::FxHashMap;
use syncline_trace::layout::ObjectRecord;

/// The number of words in a line.
const WORDS: u32 = 8;
const BYTES: u64 = 8 * WORDS as u64;
/// In place of a thread's index: no thread has accessed the word.
const NOBODY: u32 = u32::MAX;

/// A word: eight bytes of memory at an address that is a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// The address of the first byte.
    pub address: u64,
    /// The block of the heap that the word lay in; `None` if it lay in none.
    pub object: Option<ObjectRecord>,
}

/// The address of a line, and the heap block that it lay in. The block is identified by its start
/// and serial number, and not by its size, so that a block that grows in place stays the same.
type Key = (u64, Option<(u64, u64)>);

/// All words of a trace, and for each word, whether several threads accessed it and whether it was
/// written.
#[derive(Clone, Debug, Default)]
pub struct Words {
    lines: Vec<Word>,
    numbers: FxHashMap<Key, u32>,
    last: Option<(Key, u32)>,
    /// The first thread that accessed each word, by the word's number.
    first: Vec<u32>,
    /// Whether other threads accessed each word too.
    shared: Vec<bool>,
    /// Whether any section wrote to each word.
    written: Vec<bool>,
}

impl Words {
    /// Notes that a thread accessed a word, and returns the word's number; `None` if there are too
    /// many words. `writes` says whether the access wrote to the word.
    pub(crate) fn access(&mut self, word: Word, thread: u32, writes: bool) -> Option<u32> {
        let line = word.address & !(BYTES - 1);
        let key = (line, word.object.map(|object| (object.start, object.serial)));
        let first = match self.last {
            Some((last, first)) if last == key => first,
            _ => self.line(key, word.object)?,
        };
        let number = first + (word.address - line) as u32 / 8;
        let n = number as usize;
        if self.first[n] == NOBODY {
            self.first[n] = thread;
        }
        self.shared[n] |= self.first[n] != thread;
        self.written[n] |= writes;
        Some(number)
    }

    fn line(&mut self, key: Key, object: Option<ObjectRecord>) -> Option<u32> {
        let next = u32::try_from(self.first.len()).ok().filter(|&next| next <= NOBODY - WORDS)?;
        let first = *self.numbers.entry(key).or_insert(next);
        if first == next {
            let end = self.first.len() + WORDS as usize;
            self.lines.push(Word { address: key.0, object });
            self.first.resize(end, NOBODY);
            self.shared.resize(end, false);
            self.written.resize(end, false);
        }
        self.last = Some((key, first));
        Some(first)
    }

    /// Frees the data that only [`Words::access`] needs, after the last access.
    pub(crate) fn finish(&mut self) {
        self.numbers = FxHashMap::default();
        self.first = Vec::new();
        self.last = None;
    }

    /// The word with this number.
    pub fn get(&self, number: u32) -> Word {
        let line = self.lines[(number / WORDS) as usize];
        Word { address: line.address + 8 * u64::from(number % WORDS), ..line }
    }

    /// Whether more than one thread accessed the word.
    pub fn is_shared(&self, number: u32) -> bool {
        self.shared[number as usize]
    }

    /// Whether two sections may conflict on the word, which requires that several threads accessed
    /// it and one wrote to it.
    pub(crate) fn may_conflict(&self, number: u32) -> bool {
        self.shared[number as usize] && self.written[number as usize]
    }

    /// The addresses of the words that several threads accessed, in increasing order.
    pub(crate) fn shared(&self) -> Vec<u64> {
        let shared = (0..self.shared.len()).filter(|&n| self.shared[n]);
        let mut addresses: Vec<u64> = shared.map(|n| self.get(n as u32).address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// One more than the highest number of a word.
    pub(crate) fn end(&self) -> usize {
        self.shared.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_number_until_its_block_is_reused() {
        let mut words = Words::default();
        let block = |serial| Some(ObjectRecord { start: 0x1000, size: 256, site: 7, serial });
        let at = |address, object| Word { address, object };
        let mut number = |word, thread| words.access(word, thread, false).expect("a number");
        let one = number(at(0x1008, block(1)), 1);
        let next = number(at(0x1010, block(1)), 1);
        let again = number(at(0x1008, block(2)), 2);
        let elsewhere = number(at(0x1008, None), 2);
        assert_eq!(number(at(0x1008, block(1)), 2), one);
        assert_eq!(next, one + 1);
        let mut all = vec![one, next, again, elsewhere];
        all.dedup();
        assert_eq!(all.len(), 4);
        assert_eq!(words.get(one), at(0x1008, block(1)));
        assert_eq!(words.get(elsewhere), at(0x1008, None));
        assert!(words.is_shared(one) && !words.is_shared(next) && !words.is_shared(again));
        assert_eq!(words.shared(), [0x1008]);
        assert!(!words.may_conflict(one), "nobody wrote");
        words.access(at(0x1008, block(1)), 2, true);
        assert!(words.may_conflict(one));
    }
}
