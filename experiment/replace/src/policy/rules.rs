//! The form in which a policy is passed to a program: entries of words, each ended by `;`.
//!
//! ```text
//!   u NAMES                a lock, or two joined by `+`, or `libc`; the first is number 1
//!   o N FROM TO MODULE     objects at these addresses get lock N
//!   c N FROM TO MODULE     objects that are initialised by a call from there
//!   a N FROM TO MODULE     objects that are first acquired by a call from there
//!   s N, y N               objects in a module's static data; all others (dynamic)
//!   d N                    all objects that no other rule matches
//!   w FROM TO MODULE       a call from there is a wrapper's, and its caller is the call site
//!   l START                so is any call from a library whose name begins with START
//! ```
//!
//! Numbers and addresses are hexadecimal. Addresses are those of the module's file. The address of
//! a call is that of its last byte. A module is a file's name without its folders.

use core::mem::{align_of, size_of};
use core::ptr::null_mut;

use syncline_interpose::{Position, Span, fail, number, preserving_errno};

/// How many different numbers objects can store. The number 0 means that an object has no lock yet.
pub const NUMBERS: usize = 32;
/// The number that an object stores if it is left to the C library.
pub const LEFT: u16 = NUMBERS as u16 - 1;

/// The kind of thing that a rule matches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    Object,
    Created,
    Acquired,
    Static,
    Dynamic,
    Any,
    Wrapper,
    WrapperLibrary,
}

/// A rule.
#[derive(Clone, Copy)]
pub struct Rule {
    pub what: What,
    /// The lock's number.
    pub number: u16,
    span: Option<Span>,
    /// For [`What::WrapperLibrary`], the beginning of the libraries' names.
    pub libraries: &'static [u8],
}

impl Rule {
    /// Whether a position is in the rule's span.
    pub fn covers(&self, position: &Option<Position>) -> bool {
        match (&self.span, position) {
            (Some(span), Some(at)) => span.covers(at),
            _ => false,
        }
    }
}

/// The names of the locks, in the order of their numbers.
pub fn locks(text: &'static [u8]) -> impl Iterator<Item = &'static [u8]> {
    entries(text).filter_map(|entry| entry.strip_prefix(b"u "))
}

/// All rules. The text is copied, because it may be the environment's, which programs may
/// overwrite.
pub fn read(text: &'static [u8]) -> &'static [Rule] {
    let kept = room::<u8>(text.len());
    // SAFETY: the room is fresh, and as long as the text.
    let text: &'static [u8] = unsafe {
        kept.copy_from_nonoverlapping(text.as_ptr(), text.len());
        core::slice::from_raw_parts(kept, text.len())
    };
    let most = entries(text).count();
    let rules = room::<Rule>(most);
    let mut count = 0;
    for entry in entries(text).filter(|entry| !entry.starts_with(b"u ")) {
        let rule = rule(entry).unwrap_or_else(|| wrong(entry));
        // SAFETY: there is room for as many rules as there are entries.
        unsafe { rules.add(count).write(rule) };
        count += 1;
    }
    // SAFETY: this many rules were written.
    unsafe { core::slice::from_raw_parts(rules, count) }
}

fn entries(text: &'static [u8]) -> impl Iterator<Item = &'static [u8]> {
    text.split(|&b| b == b';').filter(|entry| !entry.is_empty())
}

fn rule(entry: &'static [u8]) -> Option<Rule> {
    let (&letter, rest) = entry.split_first()?;
    let rest = rest.strip_prefix(b" ")?;
    let mut rule = Rule { what: What::Any, number: 0, span: None, libraries: b"" };
    let what = match letter {
        b'o' => What::Object,
        b'c' => What::Created,
        b'a' => What::Acquired,
        b's' => What::Static,
        b'y' => What::Dynamic,
        b'd' => What::Any,
        b'w' => What::Wrapper,
        b'l' => What::WrapperLibrary,
        _ => return None,
    };
    rule.what = what;
    let mut rest = rest;
    if !matches!(what, What::Wrapper | What::WrapperLibrary) {
        rule.number = u16::try_from(number(&mut rest)?).ok()?;
        if usize::from(rule.number) >= NUMBERS {
            return None;
        }
    }
    match what {
        What::Object | What::Created | What::Acquired | What::Wrapper => {
            rule.span = Some(Span::read(rest)?);
        }
        What::WrapperLibrary => rule.libraries = rest,
        What::Static | What::Dynamic | What::Any => {}
    }
    Some(rule)
}

/// Ends the program with a message, since an entry of the policy can't be read.
pub fn wrong(entry: &[u8]) -> ! {
    fail(&[b"SYNCLINE_POLICY has an entry that this library can't read: ", entry])
}

/// Stores a value in memory that is never freed.
pub fn keep<T>(value: T) -> *mut T {
    let place = room::<T>(1);
    // SAFETY: the memory is fresh, large enough and aligned.
    unsafe { place.write(value) };
    place
}

/// Fresh memory that is never freed. The memory does not come from the program's allocator, which
/// may use a lock.
fn room<T>(count: usize) -> *mut T {
    const { assert!(align_of::<T>() <= 4096) };
    let size = (count * size_of::<T>()).max(1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
    let mapped = preserving_errno(|| unsafe {
        libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    });
    if mapped == libc::MAP_FAILED {
        fail(&[b"no memory for the policy of locks"]);
    }
    mapped.cast()
}
