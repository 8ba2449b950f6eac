//! Turns the accesses of a section into its address set: words of eight bytes, each once.

use syncline_trace::layout::{NONE, PLAINLY_READ, PLAINLY_WRITTEN, WordRecord};

use crate::context::Access;

/// Instructions lie in the upper two gigabytes.
const UPPER: u64 = 0xffff_ffff_0000_0000;

/// The address set of these accesses, in order of addresses. Reorders `accesses`.
pub fn words(accesses: &mut [Access]) -> Vec<WordRecord> {
    accesses.sort_by_key(|access| access.address & !7);
    let mut words: Vec<WordRecord> = Vec::new();
    // Accesses that extend into a second word are rare, and come in any order.
    let mut beyond: Vec<WordRecord> = Vec::new();
    for access in accesses.iter() {
        let first = access.address & !7;
        let offset = access.address - first;
        let bits = (1_u32 << access.size.min(64).min(31)).wrapping_sub(1) << offset;
        add(&mut words, first, bits as u8, access);
        let mut left = u64::from(access.size).saturating_sub(8 - offset);
        let mut at = first;
        while left > 0 {
            at += 8;
            let part = left.min(8);
            add(&mut beyond, at, ((1_u32 << part) - 1) as u8, access);
            left -= part;
        }
    }
    if !beyond.is_empty() {
        words.append(&mut beyond);
        words.sort_by_key(|word| word.address);
        words.dedup_by(|next, kept| {
            let same = next.address == kept.address;
            if same {
                kept.read |= next.read;
                kept.written |= next.written;
                kept.flags |= next.flags;
                kept.reader = if kept.reader == 0 { next.reader } else { kept.reader };
                kept.writer = if kept.writer == 0 { next.writer } else { kept.writer };
            }
            same
        });
    }
    words
}

fn add(words: &mut Vec<WordRecord>, address: u64, bits: u8, access: &Access) {
    if words.last().is_none_or(|word| word.address != address) {
        let (reader, writer) = (0, 0);
        let (object, read, written, flags) = (NONE, 0, 0, 0);
        words.push(WordRecord { address, reader, writer, object, read, written, flags });
    }
    let word = words.last_mut().expect("one was added");
    let insn = UPPER | u64::from(access.insn);
    if access.store {
        word.written |= bits;
        word.writer = insn;
        word.flags |= if access.atomic { 0 } else { PLAINLY_WRITTEN };
    } else {
        word.read |= bits;
        word.reader = insn;
        word.flags |= PLAINLY_READ;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: u64, size: u8, store: bool) -> Access {
        Access { address, insn: 0x8100_0000, size, store, atomic: false }
    }

    #[test]
    fn accesses_become_words_with_a_bit_for_each_byte() {
        let mut accesses =
            [access(0x1010, 4, false), access(0x1002, 2, true), access(0x1014, 4, true)];
        let words = words(&mut accesses);
        let told: Vec<_> = words.iter().map(|w| (w.address, w.read, w.written)).collect();
        assert_eq!(told, [(0x1000, 0, 0b1100), (0x1010, 0x0f, 0xf0)]);
        assert_eq!(words[0].writer, 0xffff_ffff_8100_0000);
        assert_eq!(words[0].flags, PLAINLY_WRITTEN);
    }

    #[test]
    fn an_access_may_reach_into_the_next_words() {
        let mut accesses =
            [access(0x1006, 4, true), access(0x1008, 1, false), access(0x1000, 8, false)];
        let told: Vec<_> =
            words(&mut accesses).iter().map(|w| (w.address, w.read, w.written)).collect();
        assert_eq!(told, [(0x1000, 0xff, 0b1100_0000), (0x1008, 1, 0b11)]);
        let mut wide = [access(0x2000, 32, true)];
        let told: Vec<_> = words(&mut wide).iter().map(|w| (w.address, w.written)).collect();
        assert_eq!(told, [(0x2000, 0xff), (0x2008, 0xff), (0x2010, 0xff), (0x2018, 0xff)]);
    }
}
