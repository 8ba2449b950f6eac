//! Sets of caches: which caches have a line.

use crate::machine::MOST_CACHES;

/// A set of caches, by their numbers.
#[derive(Clone, Copy, Default)]
pub struct Caches([u64; MOST_CACHES / 64]);

impl Caches {
    #[inline]
    pub fn has(&self, cache: usize) -> bool {
        self.0[cache / 64] >> (cache % 64) & 1 != 0
    }

    #[inline]
    pub fn add(&mut self, cache: usize) {
        self.0[cache / 64] |= 1 << (cache % 64);
    }

    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_caches() {
        let mut set = Caches::default();
        for cache in [0, 63, 64, 200, 255] {
            set.add(cache);
        }
        assert_eq!(set.all().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        assert!(set.has(63) && !set.has(62));
    }
}
