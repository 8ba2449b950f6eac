//! The types of C that the headers declare.

use syncline::lock::{About, Entry};

/// A lock's type of C.
pub struct Type {
    pub entry: Entry,
    pub size: usize,
    pub alignment: usize,
}

/// A delegation lock's type of C.
pub struct Delegating {
    pub name: &'static str,
    pub about: About,
    pub size: usize,
    pub alignment: usize,
}
