//! A bucket's tags: for each slot a byte with seven bits of its key's hash, or 0 if the slot is
//! vacant.
//!
//! The last byte is the bucket's depth: how many bits of the hash its keys have in common, plus
//! one; a bucket that was never used has 0 there. All tags are compared at once.

/// The most slots of a bucket: of the 16 bytes one has the depth, and one is unused, so that the
/// number is even.
pub(super) const MOST: usize = 14;
/// The bit that all tags have, so that none is 0.
const TAKEN: u8 = 0x80;
/// The position of the depth in the second word, in bits.
const DEPTH: u32 = 56;

/// Tags and depth, as they were read.
#[derive(Clone, Copy)]
pub(super) struct Tags(pub(super) [u64; 2]);

/// The tag of a hash: its upper bits, since the lower ones choose the bucket.
#[inline]
pub(super) fn tag(hash: u64) -> u8 {
    (hash >> 57) as u8 | TAKEN
}

/// Slots, as a set of bits; iterates from the lowest.
#[derive(Clone, Copy)]
pub(super) struct Slots(u32);

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let slot = self.0.trailing_zeros() as usize;
            self.0 &= self.0 - 1;
            slot
        })
    }
}

impl Slots {
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn add(&mut self, slot: usize) {
        self.0 |= 1 << slot;
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Tags {
    /// The tags of a bucket without entries, whose keys have `depth` bits of their hashes in
    /// common.
    pub(super) fn none(depth: u32) -> Self {
        Self([0, u64::from(depth + 1) << DEPTH])
    }

    /// How many bits of the hash the keys have in common; `None` if the bucket was never used.
    #[inline]
    pub(super) fn depth(self) -> Option<u32> {
        ((self.0[1] >> DEPTH) as u32).checked_sub(1)
    }

    /// The second word, with another depth.
    #[inline]
    pub(super) fn deepened(self, depth: u32) -> u64 {
        self.0[1] & !(0xFF << DEPTH) | u64::from(depth + 1) << DEPTH
    }

    /// The slots with this tag, among the first `slots`.
    #[inline]
    pub(super) fn with(self, tag: u8, slots: usize) -> Slots {
        Slots(self.equal(tag) & first(slots))
    }

    /// The slots that are taken.
    #[inline]
    pub(super) fn taken(self, slots: usize) -> Slots {
        Slots(self.upper_bits() & first(slots))
    }

    #[inline]
    pub(super) fn vacancy(self, slots: usize) -> Option<usize> {
        Slots(!self.upper_bits() & first(slots)).next()
    }

    /// The tag of a slot.
    #[inline]
    pub(super) fn at(self, slot: usize) -> u8 {
        (self.0[slot / 8] >> (slot % 8 * 8)) as u8
    }

    /// The word that has a slot's tag, with this tag instead; 0 makes the slot vacant.
    #[inline]
    pub(super) fn replaced(self, slot: usize, tag: u8) -> u64 {
        let at = slot % 8 * 8;
        self.0[slot / 8] & !(0xFF << at) | u64::from(tag) << at
    }

    /// Bit `i` says whether byte `i` is `tag`.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn equal(self, tag: u8) -> u32 {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        };
        let [low, high] = self.0.map(u64::cast_signed);
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let bytes = _mm_set_epi64x(high, low);
            let equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(tag.cast_signed()));
            _mm_movemask_epi8(equal).cast_unsigned()
        }
    }

    /// Bit `i` says whether byte `i` is `tag`.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn equal(self, tag: u8) -> u32 {
        const LOWER: u64 = u64::from_ne_bytes([0x7F; 8]);
        let zeros = |word: u64| {
            let different = word ^ u64::from_ne_bytes([tag; 8]);
            !((different & LOWER) + LOWER | different | LOWER)
        };
        gathered(zeros(self.0[0])) | gathered(zeros(self.0[1])) << 8
    }

    /// Bit `i` is the upper bit of byte `i`.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn upper_bits(self) -> u32 {
        use core::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
        let [low, high] = self.0.map(u64::cast_signed);
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_movemask_epi8(_mm_set_epi64x(high, low)).cast_unsigned() }
    }

    /// Bit `i` is the upper bit of byte `i`.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn upper_bits(self) -> u32 {
        gathered(self.0[0]) | gathered(self.0[1]) << 8
    }
}

/// The upper bits of eight bytes, as a byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn gathered(word: u64) -> u32 {
    const UPPER: u64 = u64::from_ne_bytes([0x80; 8]);
    // The product adds up shifts that bring each of the bits to its place in the upper byte.
    (((word & UPPER) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[inline]
const fn first(slots: usize) -> u32 {
    (1 << slots) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn slots_are_found_by_their_tags() {
        let mut tags = Tags::none(7);
        let tag_of = |slot: usize| tag((slot as u64 % 5) << 60 | 1 << 57);
        for slot in [0, 3, 7, 8, 12, 13] {
            tags.0[slot / 8] = tags.replaced(slot, tag_of(slot));
        }
        assert_eq!(tags.depth(), Some(7));
        assert_eq!(tags.taken(MOST).collect::<Vec<_>>(), [0, 3, 7, 8, 12, 13]);
        assert_eq!(tags.taken(8).len(), 3);
        assert_eq!(tags.with(tag_of(3), MOST).collect::<Vec<_>>(), [3, 8, 13]);
        assert_eq!(tags.with(tag_of(3), 8).collect::<Vec<_>>(), [3]);
        assert_eq!((tags.vacancy(MOST), tags.vacancy(1)), (Some(1), None));
        assert_eq!(tags.at(12), tag_of(12));
        // The portable code gives the same result.
        let portable = gathered(tags.0[0]) | gathered(tags.0[1]) << 8;
        assert_eq!(tags.upper_bits(), portable);
        tags.0[1] = tags.replaced(13, 0);
        assert_eq!(tags.with(tag_of(3), MOST).collect::<Vec<_>>(), [3, 8]);
        assert_eq!((tags.depth(), Tags([0, 0]).depth()), (Some(7), None));
    }
}
