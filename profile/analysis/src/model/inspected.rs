//! The results of tracing critical sections.

use serde::Serialize;

/// The sections of a call site as they were traced by `syncline inspect`, and what they say of
/// the locks that are taken there.
///
/// A trace shows what happened in some sections: it knows which data threads really shared, which
/// reading the instructions does not show. A trace does not show what a rare path does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inspected {
    /// Sections traced here.
    pub sections: u64,
    /// How many of those wrote outside of the thread's stack.
    pub writing: u64,
    /// How many of those allocated or freed memory, or called the system.
    pub calling: u64,
    /// Instructions of a section, the median.
    pub instructions: u64,
    /// Instructions of the longest.
    pub most_instructions: u64,
    /// Share of its instructions that touch nothing shared.
    pub unshared: f64,
    /// Lines that touch nothing shared, those with most instructions first.
    pub unshared_lines: Vec<String>,
    /// Threads in traced sections of these locks.
    pub threads: usize,
    /// Share of pairs of sections of different threads that are independent; `None` if there was no
    /// pair.
    pub independent: Option<f64>,
    /// Independent pieces of data that the locks guard, as far as was seen.
    pub pieces: u64,
    /// The verdict on the locks.
    pub data: Data,
    /// Whether sections are long, and for the most part about nothing shared.
    pub too_long: bool,
}

/// The verdict of traced sections on the data that a lock guards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Data {
    /// No section touched what another thread touched.
    Local,
    /// All writes are atomic instructions.
    Atomic,
    /// One shared word.
    OneWord,
    /// Many pieces that have nothing to do with each other.
    Pieces,
    /// Mostly independent, except for one field.
    OneField {
        /// The field.
        field: String,
        /// The share of pairs that would be independent without this conflict.
        independent_without: f64,
    },
    /// Sections are mostly independent, but the data is one piece.
    MostlyIndependent {
        /// Few sections write.
        mostly_read: bool,
    },
    /// Sections depend on each other.
    Dependent,
    /// Too little was traced to say.
    #[default]
    Unknown,
}
