//! The results of tracing critical sections.

use serde::Serialize;

/// The sections of a call site that `syncline inspect` traced, and what they show about the locks
/// that are taken there.
///
/// A trace shows what happened in some sections. It shows which data threads really share, which
/// the program's instructions can't show. It does not show what a rare path does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inspected {
    /// The number of sections traced at the call site.
    pub sections: u64,
    /// How many of the sections wrote outside of the thread's stack.
    pub writing: u64,
    /// The number of sections that allocated or freed memory, or of those that made system calls,
    /// whichever is larger.
    pub calling: u64,
    /// The median number of a section's instructions.
    pub instructions: u64,
    /// The number of instructions of the longest section.
    pub most_instructions: u64,
    /// Share of the sections' instructions that touch nothing shared.
    pub unshared: f64,
    /// Source lines that touch nothing shared, those with most instructions first.
    pub unshared_lines: Vec<String>,
    /// The number of threads in traced sections of these locks.
    pub threads: usize,
    /// The share of independent pairs among the compared pairs of sections of different threads. A
    /// pair is independent if neither section writes a word that the other one reads or writes.
    /// `None` if there was no pair.
    pub independent: Option<f64>,
    /// The number of independent pieces of data that the locks were seen to guard.
    pub pieces: u64,
    /// The verdict on the locks.
    pub data: Data,
    /// Whether the lock's sections are long, most of their instructions touch nothing shared, and
    /// this call site has more of these instructions than the lock's others.
    pub too_long: bool,
}

/// The verdict of traced sections on the data that a lock guards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Data {
    /// No section touched data that another thread touched.
    Local,
    /// All writes are atomic instructions.
    Atomic,
    /// The only shared data is one word.
    OneWord,
    /// Many pieces that have nothing to do with each other.
    Pieces,
    /// Sections depend on each other because of one field; without it, most would be independent.
    OneField {
        /// The field.
        field: String,
        /// The share of pairs that would be independent without this conflict.
        independent_without: f64,
    },
    /// Sections are mostly independent, but the data does not consist of many separate pieces.
    MostlyIndependent {
        /// Whether few sections write.
        mostly_read: bool,
    },
    /// Sections depend on each other.
    Dependent,
    /// Too few sections were traced for a verdict.
    #[default]
    Unknown,
}
