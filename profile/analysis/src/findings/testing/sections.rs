//! Critical sections for tests, as if their instructions had been read.

use crate::model::Section;

/// A section that adds to one word.
pub fn one_word() -> Section {
    let (instructions, reads, writes, words) = (3, 1, 1, Some(1));
    Section { complete: true, instructions, reads, writes, words, ..Section::default() }
}

/// A section that changes some words.
pub fn few_words() -> Section {
    let (instructions, reads, writes, words) = (20, 4, 3, Some(4));
    Section { complete: true, instructions, reads, writes, words, ..Section::default() }
}

/// A section that walks through data and changes it.
pub fn with_a_loop() -> Section {
    Section { loops: true, words: None, ..few_words() }
}

/// A section that only reads, with a loop.
pub fn reads_only() -> Section {
    Section { writes: 0, ..with_a_loop() }
}

/// A section that changes a word with an atomic instruction.
pub fn atomics_only() -> Section {
    Section { writes: 0, atomics: 1, reads: 1, words: Some(2), ..few_words() }
}

/// A section that touches only the function's own data.
pub fn nothing() -> Section {
    Section { reads: 0, writes: 0, words: Some(0), ..few_words() }
}

/// A section that walks through data, and calls `functions`.
pub fn calling(functions: &[&str]) -> Section {
    let calls = functions.iter().map(|name| (*name).to_owned()).collect();
    Section { calls, ..with_a_loop() }
}
