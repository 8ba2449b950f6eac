//! Values that are made of whole words.

/// A value that consists of words of 64 bits, each of which may have any content. In a memory whose
/// words are objects, slots hold such values.
pub trait Words: Copy {
    /// The number of words.
    const WORDS: usize;
    /// Calls `word` with each word, in order.
    fn put(self, word: &mut impl FnMut(u64));
    /// Makes a value from the words that `word` returns, in that order.
    fn of(word: &mut impl FnMut() -> u64) -> Self;
}

impl Words for u64 {
    const WORDS: usize = 1;
    #[inline]
    fn put(self, word: &mut impl FnMut(u64)) {
        word(self);
    }
    #[inline]
    fn of(word: &mut impl FnMut() -> u64) -> Self {
        word()
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    const WORDS: usize = N * T::WORDS;
    #[inline]
    fn put(self, word: &mut impl FnMut(u64)) {
        self.into_iter().for_each(|value| value.put(word));
    }
    #[inline]
    fn of(word: &mut impl FnMut() -> u64) -> Self {
        core::array::from_fn(|_| T::of(word))
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    const WORDS: usize = A::WORDS + B::WORDS;
    #[inline]
    fn put(self, word: &mut impl FnMut(u64)) {
        self.0.put(word);
        self.1.put(word);
    }
    #[inline]
    fn of(word: &mut impl FnMut() -> u64) -> Self {
        (A::of(word), B::of(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn values_come_back() {
        let value = (7, ([1, 2], 3));
        let mut words = Vec::new();
        value.put(&mut |word| words.push(word));
        assert_eq!(words.len(), <(u64, ([u64; 2], u64))>::WORDS);
        let mut words = words.into_iter();
        assert_eq!(<(u64, ([u64; 2], u64))>::of(&mut || words.next().unwrap_or_default()), value);
    }
}
