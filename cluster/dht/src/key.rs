//! The position of a key: the rank in whose part the key is, the key's bucket, and the tag in the
//! key's slot.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;

use crate::layout::mask;

/// The seed of the hash function, an arbitrary constant. All ranks of a table must agree on it:
/// `Table::open` compares their values of `probe`.
const SEED: u64 = 0x5ca1_ab1e_0dd5_eed5;

/// A key's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hash(pub u64);

impl Hash {
    #[inline]
    pub fn of(key: &[u8]) -> Hash {
        Hash(FixedState::with_seed(SEED).hash_one(key))
    }

    /// The rank in whose part the key is, from the highest bits of the hash.
    #[inline]
    pub fn home(self, ranks: usize) -> usize {
        ((u128::from(self.0) * ranks as u128) >> 64) as usize
    }

    /// The number of the key's bucket among 2^`bits` buckets, from the lowest bits of the hash.
    #[inline]
    pub fn bucket(self, bits: u32) -> u64 {
        self.0 & mask(bits)
    }

    /// The tag in the key's slot, from bits in the middle of the hash.
    #[inline]
    pub fn tag(self) -> u64 {
        self.0 >> 36 & mask(20)
    }
}

/// The hash of a fixed key, which differs between two programs that hash differently.
pub(crate) fn probe() -> u64 {
    Hash::of(b"syncline-dht").0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_over_ranks_and_buckets() {
        let mut ranks = [0; 7];
        let mut buckets = [0; 16];
        for number in 0..16_000u64 {
            let hash = Hash::of(&number.to_le_bytes());
            ranks[hash.home(7)] += 1;
            buckets[hash.bucket(4) as usize] += 1;
        }
        assert!(ranks.iter().all(|&count| (2000..2600).contains(&count)), "{ranks:?}");
        assert!(buckets.iter().all(|&count| (850..1150).contains(&count)), "{buckets:?}");
    }
}
