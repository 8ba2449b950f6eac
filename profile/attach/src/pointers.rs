//! Reads the words of a module's data, some of which may be pointers that the program got from
//! `dlsym`.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::memory::{Memory, words};

const PAGE: u64 = 4096;
/// The bit of a page's word in `pagemap` that is set if the page is in memory.
const PRESENT: u64 = 1 << 63;

/// The addresses and values of all words in the pages of a range. Pages that are not in memory are
/// left out; the program has never touched them, or they were swapped out.
pub fn of(memory: Memory, range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let first = range.start / PAGE;
    let mut about = vec![0; ((range.end.div_ceil(PAGE) - first) * 8) as usize];
    let pagemap = File::open(format!("/proc/{}/pagemap", memory.0));
    let _ = pagemap.and_then(|file| file.read_exact_at(&mut about, first * 8));
    let about: Vec<u64> = words(&about).collect();
    let present = about.into_iter().enumerate().filter(|(_, word)| word & PRESENT != 0);
    present.flat_map(move |(number, _)| {
        let at = (first + number as u64) * PAGE;
        let bytes = memory.read(at, PAGE as usize).unwrap_or_default();
        let words: Vec<u64> = words(&bytes).collect();
        words.into_iter().enumerate().map(move |(n, word)| (at + n as u64 * 8, word))
    })
}
