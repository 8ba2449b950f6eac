//! Identifies the call site of a call: the innermost caller that is not a wrapper of locks, if it
//! is one of the named sites.
//!
//! The call sites come as entries that end in `;`, as `syncline-policy` writes them:
//!
//! ```text
//!   a N FROM TO MODULE     a call from there is at call site N
//!   w FROM TO MODULE       a call from there is a wrapper's, and its caller is the call site
//!   l START                so is any call from a library whose name begins with START
//! ```
//!
//! Numbers and addresses are hexadecimal, and call sites are numbered from 1. Addresses are those
//! of the module's file. The address of a call is that of its last byte.
//!
//! **Return addresses are looked up once.** The meaning of each is kept in a lock-free table, so
//! that a call costs one access to an entry. For a return address into a wrapper, the table has the
//! distance on the stack to the wrapper's own return address. The distance is the same for all
//! calls from there, unless the function extends its stack while it runs. So the value at that
//! position counts only if it is a return address that was looked up before; otherwise the stack is
//! unwound.

use core::ffi::CStr;
use core::num::NonZeroU8;
use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicPtr, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use syncline_interpose::{Span, learn_program, number, position, preserving_errno};

use crate::options;
use crate::tls::{looking, set_looking};
use crate::unwind::{Caller, return_address_above};

/// The most call sites: a line has counters for this many.
const MOST: u64 = 5;
/// The most nested wrappers that are followed.
const DEPTH: usize = 16;

/// One of the named call sites, by its number.
#[derive(Clone, Copy)]
pub struct Site(NonZeroU8);

impl Site {
    /// The number of the call site, from 1.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0.get().into()
    }

    /// The index of the call site, from 0.
    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.0.get()) - 1
    }
}

/// The meaning of a return address.
#[derive(Clone, Copy)]
enum Meaning {
    Other,
    Site(Site),
    /// A wrapper, whose own return address lies this many bytes further up.
    Wrapper(usize),
}

impl Meaning {
    fn to_bits(self) -> u64 {
        match self {
            Meaning::Other => 1,
            Meaning::Site(site) => 2 | site.number() << 2,
            Meaning::Wrapper(above) => 3 | (above as u64) << 2,
        }
    }

    #[inline(always)]
    fn of_bits(bits: u64) -> Option<Meaning> {
        match bits & 3 {
            1 => Some(Meaning::Other),
            2 => NonZeroU8::new((bits >> 2) as u8).map(|number| Meaning::Site(Site(number))),
            3 => Some(Meaning::Wrapper((bits >> 2) as usize)),
            _ => None,
        }
    }
}

/// The named call site that a call comes from; `None` if it comes from another one, or before
/// [`start`].
#[inline(always)]
pub fn of(caller: Caller) -> Option<Site> {
    // Acquire pairs with the Release in `start`: this thread sees the entries.
    if TEXT.load(Acquire).is_null() {
        return None;
    }
    // SAFETY: `entry!` passes the position of the return address.
    match known(unsafe { *caller }) {
        Some(Meaning::Other) => None,
        Some(Meaning::Site(site)) => Some(site),
        _ => through_wrappers(caller),
    }
}

fn through_wrappers(caller: Caller) -> Option<Site> {
    let mut at = caller;
    for _ in 0..DEPTH {
        // SAFETY: `at` is on the calling thread's stack: the position of the program's own call, or
        // one that was found above it.
        let address = unsafe { *at };
        match known(address).or_else(|| learn(at, address))? {
            Meaning::Other => return None,
            Meaning::Site(site) => return Some(site),
            Meaning::Wrapper(above) => {
                let next = at.wrapping_byte_add(above);
                // SAFETY: as above; a wrapper's frame lies below that of its caller, so `next` is
                // on the stack too.
                let is_known = known(unsafe { *next }).is_some();
                at = if is_known { next } else { above_exactly(at)? };
            }
        }
    }
    None
}

/// Finds the next return address with the unwinder.
#[cold]
fn above_exactly(at: Caller) -> Option<Caller> {
    aside(|| return_address_above(at))
}

/// Finds out the meaning of a return address, and keeps it.
#[cold]
fn learn(at: Caller, address: usize) -> Option<Meaning> {
    aside(|| {
        let meaning = match named(address.wrapping_sub(1)) {
            Named::Site(site) => Meaning::Site(site),
            Named::Wrapper => match return_address_above(at) {
                Some(next) => Meaning::Wrapper(next.addr() - at.addr()),
                None => Meaning::Other,
            },
            Named::Other => Meaning::Other,
        };
        keep(address, meaning);
        Some(meaning)
    })
}

/// Runs a function that may itself use a lock; calls from inside it have no call site. `None`,
/// without running it, if the thread is inside already.
fn aside<R>(action: impl FnOnce() -> Option<R>) -> Option<R> {
    if looking() != 0 {
        return None;
    }
    set_looking(1);
    let result = preserving_errno(action);
    set_looking(0);
    result
}

// --- known addresses ---------------------------------------------------------------------------

const ENTRIES: usize = 1 << 13;
/// The number of entries in which an address may be.
const PROBES: usize = 16;

struct Entry {
    address: AtomicUsize,
    /// The encoded [`Meaning`]; 0 until it is known.
    meaning: AtomicU64,
}

static KNOWN: [Entry; ENTRIES] =
    [const { Entry { address: AtomicUsize::new(0), meaning: AtomicU64::new(0) } }; ENTRIES];

#[inline(always)]
fn entries(address: usize) -> impl Iterator<Item = &'static Entry> {
    let first = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 13);
    (0..PROBES).map(move |step| &KNOWN[(first as usize + step) % ENTRIES])
}

#[inline(always)]
fn known(address: usize) -> Option<Meaning> {
    for entry in entries(address) {
        // Relaxed: an entry never changes its address, and its meaning is one word.
        match entry.address.load(Relaxed) {
            found if found == address => return Meaning::of_bits(entry.meaning.load(Relaxed)),
            0 => return None,
            _ => {}
        }
    }
    None
}

/// Keeps the meaning of an address, if there is room.
fn keep(address: usize, meaning: Meaning) {
    for entry in entries(address) {
        // Relaxed, as in `known`. A thread that stores later stores the same meaning.
        let found = entry.address.compare_exchange(0, address, Relaxed, Relaxed);
        if found.is_ok() || found == Err(address) {
            entry.meaning.store(meaning.to_bits(), Relaxed);
            return;
        }
    }
}

// --- named call sites --------------------------------------------------------------------------

enum Named {
    Site(Site),
    Wrapper,
    Other,
}

/// The text of the entries, ended by a zero byte; null until it is read.
static TEXT: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Reads the named call sites.
pub fn start() {
    let text = options::sites();
    if text.is_empty() {
        return;
    }
    // The text is copied, because programs may overwrite their environment. SAFETY: the mapping is
    // new, and has room for a zero byte after the text. The process starts with one thread, which
    // asks for no position before the store below.
    unsafe {
        learn_program();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kept = libc::mmap(null_mut(), text.len() + 1, access, flags, -1, 0);
        if kept != libc::MAP_FAILED {
            let kept = kept.cast::<u8>();
            kept.copy_from_nonoverlapping(text.as_ptr(), text.len());
            // Release: pairs with the Acquire in `of`.
            TEXT.store(kept, Release);
        }
    }
}

/// Finds the entry that a call belongs to.
fn named(call: usize) -> Named {
    let Some(at) = position(call) else { return Named::Other };
    // SAFETY: the text is never freed, and is ended by a zero byte.
    let text = unsafe { CStr::from_ptr(TEXT.load(Relaxed).cast()) }.to_bytes();
    let mut found = Named::Other;
    for entry in text.split(|&b| b == b';') {
        let Some((&letter, mut rest)) = entry.split_first() else { continue };
        rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let site = if letter == b'a' { number(&mut rest) } else { None };
        let covers = match letter {
            b'l' => at.module.starts_with(rest),
            b'a' | b'w' => Span::read(rest).is_some_and(|span| span.covers(&at)),
            _ => false,
        };
        if !covers {
            continue;
        }
        match site.filter(|number| (1..=MOST).contains(number)) {
            Some(number) => {
                let number = NonZeroU8::new(number as u8);
                return number.map_or(Named::Other, |number| Named::Site(Site(number)));
            }
            None => found = Named::Wrapper,
        }
    }
    found
}
