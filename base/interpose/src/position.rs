//! Finds the position of an address (its file, and the address there), and reads spans of addresses
//! from environment variables.
//!
//! Such a span is written `FROM TO MODULE`: two addresses of the module's file, in hexadecimal, and
//! the file's name without its folders.

use core::str::from_utf8;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::fs::{CWD, readlinkat_raw};

use crate::found::object_at;

/// A position in a file.
#[derive(Clone, Copy)]
pub struct Position {
    /// The file's name without its folders.
    pub module: &'static [u8],
    /// The address in the file's own symbol tables.
    pub address: u64,
}

/// A range of addresses of a file.
#[derive(Clone, Copy)]
pub struct Span {
    from: u64,
    to: u64,
    module: &'static [u8],
}

/// The longest name of a file.
const LONGEST_NAME: usize = 256;

/// The program's own name, which the loader doesn't have.
static mut PROGRAM: [u8; LONGEST_NAME] = [0; LONGEST_NAME];
static PROGRAM_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Learns the program's name.
///
/// # Safety
/// One thread calls it, once, and no thread asks for a [`position`] before it has returned.
pub unsafe fn learn_program() {
    let mut path = [0u8; libc::PATH_MAX as usize];
    let length = readlinkat_raw(CWD, c"/proc/self/exe", &mut path).unwrap_or(0);
    let name = last_part(&path[..length]);
    let length = name.len().min(LONGEST_NAME);
    // SAFETY: the buffer has this many bytes, and by this function's own condition no thread reads
    // them yet.
    unsafe {
        (&raw mut PROGRAM).cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), length);
    }
    PROGRAM_LENGTH.store(length, Relaxed);
}

/// The position of an address; `None` if it is in no file, as in memory that a program allocates,
/// or if the loader lacks `_dl_find_object`.
pub fn position(address: usize) -> Option<Position> {
    let object = object_at(address as u64)?;
    let module = match object.path() {
        b"" => {
            let program = (&raw const PROGRAM).cast::<u8>();
            // SAFETY: this many bytes were learnt, and are never changed again.
            unsafe { core::slice::from_raw_parts(program, PROGRAM_LENGTH.load(Relaxed)) }
        }
        path => last_part(path),
    };
    Some(Position { module, address: (address as u64).wrapping_sub(object.bias) })
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

impl Span {
    /// Reads `FROM TO MODULE`; `None` if the text is invalid.
    pub fn read(mut text: &'static [u8]) -> Option<Span> {
        let (from, to) = (number(&mut text)?, number(&mut text)?);
        Some(Span { from, to, module: text })
    }

    /// Whether a position lies in the span.
    pub fn covers(&self, at: &Position) -> bool {
        (self.from..self.to).contains(&at.address) && at.module == self.module
    }
}

/// Takes the next word off a text: a number in hexadecimal. `None` if it isn't one.
pub fn number(text: &mut &'static [u8]) -> Option<u64> {
    let end = text.iter().position(|&b| b == b' ').unwrap_or(text.len());
    let (digits, after) = text.split_at(end);
    *text = after.strip_prefix(b" ").unwrap_or(after);
    u64::from_str_radix(from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_and_covers_its_own_file_only() {
        let span = Span::read(b"10 2f libx with spaces.so").expect("it is well-formed");
        let at = |module: &'static [u8], address| Position { module, address };
        assert!(span.covers(&at(b"libx with spaces.so", 0x10)));
        assert!(!span.covers(&at(b"libx with spaces.so", 0x2f)), "the end is not in it");
        assert!(!span.covers(&at(b"libx", 0x10)));
        assert!(Span::read(b"10 zz libx.so").is_none());
    }

    #[test]
    fn a_function_of_ours_is_in_our_own_file() {
        // SAFETY: no other test of this crate asks for positions.
        unsafe { learn_program() };
        let here = position(last_part as *const () as usize).expect("it is in a file");
        assert!(here.module.starts_with(b"syncline_interpose"), "{:?}", from_utf8(here.module));
        let local = 0u8;
        assert!(position((&raw const local).addr()).is_none(), "a stack is in no file");
    }
}
