//! Searches one file for the calls that belong to a position.

use std::collections::BTreeMap;
use std::ops::Range;

use super::found::Wider;
use crate::file::image::{Found, Image};
use crate::model::Frame;
use crate::section::held;
use crate::symbols::place::wraps_locks;
use crate::symbols::short::function as name_of;

/// A position to search for.
pub struct Wanted<'a> {
    /// The position's function; `None` for any function.
    pub function: Option<&'a str>,
    /// The position's source file, without folders; `None` for any file.
    pub file: Option<&'a str>,
    /// The position's line; `None` for any line.
    pub line: Option<u32>,
}

/// How well a frame matches a wanted position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    No,
    Function,
    Exact,
}

impl Wanted<'_> {
    fn is(&self, frame: &Found) -> Match {
        if self.function.is_some_and(|name| !is_called(&frame.function, name)) {
            return Match::No;
        }
        let same_file = self.file.is_none_or(|file| {
            frame.file.as_deref().is_some_and(|path| path.rsplit('/').next() == Some(file))
        });
        let same_line = self.line.is_none() || frame.line == self.line;
        if same_file && same_line { Match::Exact } else { Match::Function }
    }
}

/// The address ranges that belong to the position, and the reason if they are more than the
/// position.
pub fn search(image: &Image, wanted: &Wanted<'_>) -> (Vec<Range<u64>>, Option<Wider>) {
    let mut exact = Vec::new();
    let mut function = Vec::new();
    held::look_everywhere(image);
    let took: BTreeMap<u64, usize> =
        image.returned.borrow().iter().map(|(&a, &n)| (a, n)).collect();
    for piece in image.lines() {
        let frames = image.frames(piece.start);
        // A function that acquires a lock for its caller may be named as well.
        let took = took.range(piece.start + 1..=piece.end).map(|(_, &frames)| frames).max();
        let took = took.unwrap_or(0);
        let own = || frames.iter().enumerate().filter(|(_, frame)| !is_wrapper(frame));
        let place = own().find(|&(n, _)| n >= took).map_or(frames.len(), |(n, _)| n);
        let named = own().take_while(|&(n, _)| n <= place);
        match named.map(|(_, frame)| wanted.is(frame)).max() {
            Some(Match::Exact) => exact.push(piece),
            Some(Match::Function) => function.push(piece),
            Some(Match::No) | None => {}
        }
    }
    if !exact.is_empty() {
        return (merged(exact), None);
    }
    let Some(name) = wanted.function else { return (Vec::new(), None) };
    if !function.is_empty() {
        return (merged(function), Some(Wider::Moved));
    }
    let why = wanted.file.map(|_| Wider::NoLines);
    (functions(image, name), why)
}

/// The address ranges of the functions called `name` according to the symbols, with all parts into
/// which a compiler split them.
pub fn functions(image: &Image, name: &str) -> Vec<Range<u64>> {
    let named = image.all_functions().filter(|(_, _, function)| is_called(function, name));
    named.map(|(start, size, _)| start..start + size.max(1)).collect()
}

/// The functions that wrap locks, recognised by their names or by their instructions. Inlined ones
/// are not among them. Only functions whose names suggest locks are checked by name, because a
/// standard library has thousands.
pub fn wrappers(image: &Image) -> Vec<Range<u64>> {
    const WORDS: [&str; 6] = ["lock", "mutex", "Mutex", "Lock", "condition", "once"];
    let speaks = |name: &str| WORDS.iter().any(|word| name.contains(word));
    let found = image.all_functions().filter(|(_, size, name)| {
        *size > 0
            && speaks(name)
            && is_wrapper(&Found { function: name.clone(), whole: None, file: None, line: None })
    });
    let named = found.map(|(start, size, _)| start..start + size);
    let by_deed = held::look_everywhere(image).iter().cloned();
    merged(named.chain(by_deed).collect())
}

/// Whether `name` is the function's name in full, as reports shorten it, or its name without the
/// suffix of a part (`push.cold`, `push.part.0`).
fn is_called(function: &str, name: &str) -> bool {
    let whole = |function: &str| function == name || name_of(function) == name;
    whole(function) || function.split_once('.').is_some_and(|(start, _)| whole(start))
}

fn is_wrapper(found: &Found) -> bool {
    let frame = Frame {
        function: found.function.clone(),
        whole: None,
        file: found.file.clone(),
        line: found.line,
        module: None,
    };
    wraps_locks(&frame, &[])
}

/// Sorts ranges, and merges those that touch.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_ranges_are_merged() {
        assert_eq!(merged(vec![20..30, 0..4, 4..8, 25..26]), [0..8, 20..30]);
    }

    #[test]
    fn a_function_is_known_by_each_of_its_names() {
        for name in ["push", "push.part.0"] {
            assert!(is_called("push.part.0", name));
        }
        assert!(is_called("void Queue<std::pair<int, int>>::push(int)", "Queue<…>::push"));
        assert!(is_called("queue::push(int)", "queue::push"));
        assert!(!is_called("push_all", "push"));
    }
}
