//! Sets of caches, such as all caches that have a copy of a line.

/// The most private caches that a simulated machine may have.
pub const MOST_CACHES: usize = 256;

/// A set of caches, by their numbers.
#[derive(Clone, Copy, Debug, Default)]
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

    /// This set without `cache`.
    #[inline]
    pub fn without(mut self, cache: usize) -> Caches {
        self.0[cache / 64] &= !(1 << (cache % 64));
        self
    }

    /// Whether a cache is in both sets.
    #[inline]
    pub fn meets(&self, other: &Caches) -> bool {
        self.0.iter().zip(&other.0).fold(0, |both, (a, b)| both | a & b) != 0
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
        assert!(set.has(63) && !set.has(62));
        assert_eq!((set.count(), set.without(200).count()), (5, 4));
        let mut other = Caches::default();
        other.add(62);
        assert!(!set.meets(&other));
        other.add(255);
        assert!(set.meets(&other) && !set.without(255).meets(&other));
    }
}
