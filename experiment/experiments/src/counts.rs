//! The file in which the delay library counts; `experiment/delay/src/counts.rs` describes its form.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use syncline_analysis::model::Delayed;

/// The number of words in a line, and the number of lines.
const WORDS: usize = 16;
const LINES: usize = 1 + 4096;
/// The number of counters of each call site.
const KINDS: usize = 3;
/// The word of a line that has the sum of the ticks spent in delays.
const PASSED: usize = 15;

/// A file of counts.
pub struct Counts(PathBuf);

impl Counts {
    /// Makes the file. The program may continue as another user, so all users may write to the
    /// file.
    pub fn create(path: PathBuf) -> io::Result<Counts> {
        let file = File::create(&path)?;
        file.set_len((LINES * WORDS * size_of::<u64>()) as u64)?;
        fs::set_permissions(&path, Permissions::from_mode(0o666))?;
        Ok(Counts(path))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The number of times that a process loaded the library. A forked child inherits the library,
    /// and does not count again.
    pub fn processes(&self) -> io::Result<u64> {
        Ok(self.words()?[1])
    }

    /// How often this operation happened at a call site, in all runs together.
    pub fn of(&self, place: usize, delayed: Delayed) -> io::Result<u64> {
        let kind = match delayed {
            Delayed::Section | Delayed::Call => 0,
            Delayed::Try => 1,
            Delayed::Wait => 2,
        };
        self.sum(place * KINDS + kind)
    }

    /// The ticks that passed in delays, in all threads and runs together.
    pub fn passed(&self) -> io::Result<u64> {
        self.sum(PASSED)
    }

    fn sum(&self, word: usize) -> io::Result<u64> {
        let words = self.words()?;
        Ok(words.chunks_exact(WORDS).skip(1).map(|line| line[word]).sum())
    }

    fn words(&self) -> io::Result<Vec<u64>> {
        let bytes = fs::read(&self.0)?;
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let mut words: Vec<u64> = bytes.chunks_exact(size_of::<u64>()).map(word).collect();
        words.resize(LINES * WORDS, 0);
        Ok(words)
    }
}
