//! Copies bytes of shared memory word by word. Other threads may write at the same time, and no
//! word is ever seen half written.
//!
//! All accesses are to whole aligned words, because simultaneous atomic accesses of different sizes
//! to the same bytes are undefined. The first and the last word may belong to the range only in
//! part. Such a word is changed by an atomic exchange that keeps its other bytes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<u64>();

/// The words that contain the `length` bytes from the address `from` on. Gives for each word its
/// address, which of its bytes belong to the range, and where in the range these bytes are.
fn pieces(from: usize, length: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let end = from + length;
    (from / WORD * WORD..end).step_by(WORD).map(move |word| {
        let inside = from.max(word) - word..end.min(word + WORD) - word;
        (word, inside, from.max(word) - from)
    })
}

/// # Safety
///
/// The word is live shared memory.
unsafe fn at<'a>(start: *mut u8, word: usize) -> &'a AtomicU64 {
    // SAFETY: our caller's promise; the address is aligned.
    unsafe { AtomicU64::from_ptr(start.with_addr(word).cast()) }
}

/// Reads bytes.
///
/// # Safety
///
/// The words that contain the bytes are live shared memory.
#[inline]
pub unsafe fn read(from: *mut u8, into: &mut [u8]) {
    if from.addr().is_multiple_of(WORD) && into.len().is_multiple_of(WORD) {
        for (number, chunk) in into.chunks_exact_mut(WORD).enumerate() {
            // SAFETY: our caller's promise. Relaxed: the caller's fences order it.
            let word = unsafe { AtomicU64::from_ptr(from.cast::<u64>().add(number)).load(Relaxed) };
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        return;
    }
    for (word, inside, at_range) in pieces(from.addr(), into.len()) {
        // SAFETY: our caller's promise. Relaxed: as above.
        let bytes = unsafe { at(from, word) }.load(Relaxed).to_ne_bytes();
        into[at_range..at_range + inside.len()].copy_from_slice(&bytes[inside]);
    }
}

/// Writes bytes.
///
/// # Safety
///
/// The caller promises what [`read`] requires.
#[inline]
pub unsafe fn write(to: *mut u8, bytes: &[u8]) {
    for (word, inside, at_range) in pieces(to.addr(), bytes.len()) {
        // SAFETY: our caller's promise.
        let shared = unsafe { at(to, word) };
        let new = &bytes[at_range..at_range + inside.len()];
        if let Ok(whole) = new.try_into() {
            // Relaxed: the caller's fences order it.
            shared.store(u64::from_ne_bytes(whole), Relaxed);
            continue;
        }
        let with_ours = |old: u64| {
            let mut all = old.to_ne_bytes();
            all[inside.clone()].copy_from_slice(new);
            Some(u64::from_ne_bytes(all))
        };
        // Relaxed: as above.
        let _ = shared.fetch_update(Relaxed, Relaxed, with_ours);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_is_copied_and_nothing_else() {
        for from in 0..17 {
            for length in 0..25 {
                let mut shared = [u64::from_ne_bytes([7; 8]); 6];
                let bytes: Vec<u8> = (0..length as u8).map(|n| 100 + n).collect();
                let start = shared.as_mut_ptr().cast::<u8>();
                let mut found = vec![0; length];
                // SAFETY: the range is in the array.
                unsafe {
                    write(start.add(from), &bytes);
                    read(start.add(from), &mut found);
                }
                assert_eq!(found, bytes);
                let all: Vec<u8> = shared.iter().flat_map(|word| word.to_ne_bytes()).collect();
                assert!(all[..from].iter().chain(&all[from + length..]).all(|&byte| byte == 7));
            }
        }
    }
}
