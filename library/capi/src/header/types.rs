//! The C types that the headers declare.

use syncline::lock::{About, Entry};

/// The C type of a lock.
pub struct Type {
    pub entry: Entry,
    pub size: usize,
    pub alignment: usize,
}

/// The C type of a delegation lock.
pub struct Delegating {
    pub name: &'static str,
    pub about: About,
    pub size: usize,
    pub alignment: usize,
}
