//! Documents with a generated part.

use std::path::Path;
use std::{fs, io};

/// Replaces the text between two marks in a file of the repository.
///
/// # Errors
/// If the file can't be read or written, or does not contain both marks in this order.
pub fn replace_between(document: &str, marks: [&str; 2], tables: &str) -> io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = fs::read_to_string(&path)?;
    let missing = || io::Error::other(format!("the marks {marks:?} are not there"));
    let (before, rest) = text.split_once(marks[0]).ok_or_else(missing)?;
    let (_, after) = rest.split_once(marks[1]).ok_or_else(missing)?;
    fs::write(path, [before, marks[0], "\n", tables, "\n", marks[1], after].concat())
}
