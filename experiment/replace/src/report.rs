//! Reports which objects were replaced and which were not, if the user asks for it. Objects are
//! counted when they are initialised. Acquisitions of mutexes and reader-writer locks are counted
//! if they are left to the C library, because of the object's kind or because there is no large
//! lock left for it. Acquisitions of replaced locks are not counted.

use core::ffi::c_int;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::options;

struct Counts {
    mutexes: AtomicU64,
    shared: AtomicU64,
    robust: AtomicU64,
    priority: AtomicU64,
    rwlocks: AtomicU64,
    shared_rwlocks: AtomicU64,
    spinlocks: AtomicU64,
    shared_spinlocks: AtomicU64,
    /// Spinlocks for which there were no more large locks.
    left_spinlocks: AtomicU64,
    /// Objects that could be replaced, but for which no lock was named.
    unnamed: AtomicU64,
    /// Acquisitions of objects that can't be replaced.
    left: AtomicU64,
    /// Acquisitions of objects for which there were no more large locks.
    beyond: AtomicU64,
}

impl Counts {
    const fn new() -> Self {
        Self {
            mutexes: AtomicU64::new(0),
            shared: AtomicU64::new(0),
            robust: AtomicU64::new(0),
            priority: AtomicU64::new(0),
            rwlocks: AtomicU64::new(0),
            shared_rwlocks: AtomicU64::new(0),
            spinlocks: AtomicU64::new(0),
            shared_spinlocks: AtomicU64::new(0),
            left_spinlocks: AtomicU64::new(0),
            unnamed: AtomicU64::new(0),
            left: AtomicU64::new(0),
            beyond: AtomicU64::new(0),
        }
    }
}

static COUNTS: Counts = Counts::new();

// Bits of a mutex's kind, for mutexes that can't be replaced.
const ROBUST: c_int = 0x10;
const PRIORITY: c_int = 0x20 | 0x40;

fn count(what: &AtomicU64) {
    // Relaxed, like all accesses here: the counts are read at the end.
    what.fetch_add(1, Relaxed);
}

/// Counts a mutex that was initialised and can be replaced. `named` says whether a lock replaces
/// mutexes.
pub fn mutex_made(named: bool) {
    count(if named { &COUNTS.mutexes } else { &COUNTS.unnamed });
}

/// Counts a mutex that was initialised and can't be replaced; `kind` is the C library's number.
pub fn mutex_left(kind: c_int) {
    count(match kind {
        _ if kind & ROBUST != 0 => &COUNTS.robust,
        _ if kind & PRIORITY != 0 => &COUNTS.priority,
        _ => &COUNTS.shared,
    });
}

/// Counts a reader-writer lock that was initialised. `named` says whether a lock replaces these.
pub fn rwlock_made(shared: bool, named: bool) {
    count(match (shared, named) {
        (true, _) => &COUNTS.shared_rwlocks,
        (_, true) => &COUNTS.rwlocks,
        _ => &COUNTS.unnamed,
    });
}

/// Counts a spinlock that was initialised and can be replaced, by whether there was room for its
/// lock.
pub fn spinlock_made(ours: bool) {
    count(if ours { &COUNTS.spinlocks } else { &COUNTS.left_spinlocks });
}

/// Counts a spinlock that was initialised for several processes, and so can't be replaced.
pub fn spinlock_shared() {
    count(&COUNTS.shared_spinlocks);
}

/// Counts a spinlock that was initialised while no lock replaces spinlocks.
pub fn spinlock_unnamed() {
    count(&COUNTS.unnamed);
}

/// Counts an acquisition that was left to the C library, because of the object's kind (`by_kind`),
/// or because there is no large lock left for it.
#[cold]
pub fn left_to_libc(by_kind: bool) {
    count(if by_kind { &COUNTS.left } else { &COUNTS.beyond });
}

/// A text of limited length, which is cut off.
struct Text {
    bytes: [u8; 1024],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = part.len().min(room.len());
        room[..fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

/// Prints the report, if it was requested.
pub fn print() {
    if !options::report() {
        return;
    }
    let mut text = Text { bytes: [0; 1024], length: 0 };
    // Writing never fails.
    let _ = compose(&mut text, &COUNTS);
    // SAFETY: the bytes are the text's own.
    let _ = unsafe { libc::write(2, text.bytes.as_ptr().cast(), text.length) };
}

/// A number of objects, and their name in the singular and in the plural.
struct Objects(u64, &'static str, &'static str);

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Objects(number, one, several) = *self;
        write!(f, "{number} {}", if number == 1 { one } else { several })
    }
}

fn compose(text: &mut Text, counts: &Counts) -> fmt::Result {
    let (names, replaced) = match options::policy() {
        b"" => match options::locks() {
            b"" => ("no other locks", "initialised and replaced"),
            names => (core::str::from_utf8(names).unwrap_or("?"), "initialised and replaced"),
        },
        _ => ("a policy", "initialised, and replaced where a rule says so"),
    };
    let made = |count: &AtomicU64| count.load(Relaxed);
    let mutexes = |count| Objects(made(count), "mutex", "mutexes");
    let rwlocks = |count| Objects(made(count), "rwlock", "rwlocks");
    let spinlocks = |count| Objects(made(count), "spinlock", "spinlocks");
    // SAFETY: the call has no requirements.
    let process = unsafe { libc::getpid() };
    write!(
        text,
        "syncline: process {process} with {names}\n\
         syncline: {replaced}: {}, {}, {}\n\
         syncline: static objects and C11's are replaced too, but not counted\n\
         syncline: left to the C library: {}, {} and {} between processes,\n\
         syncline: {}, {} with a priority protocol, {} for lack of memory,\n\
         syncline: and {} for which no lock was named\n\
         syncline: calls to acquire mutexes and rwlocks that were left to it:\n\
         syncline: {} of kinds that can't be replaced, {} for lack of memory\n",
        mutexes(&counts.mutexes),
        rwlocks(&counts.rwlocks),
        spinlocks(&counts.spinlocks),
        mutexes(&counts.shared),
        rwlocks(&counts.shared_rwlocks),
        spinlocks(&counts.shared_spinlocks),
        Objects(made(&counts.robust), "robust mutex", "robust mutexes"),
        made(&counts.priority),
        spinlocks(&counts.left_spinlocks),
        made(&counts.unnamed),
        made(&counts.left),
        made(&counts.beyond),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_named_in_the_singular() {
        let counts = Counts::new();
        for count in [&counts.mutexes, &counts.shared_rwlocks, &counts.robust] {
            count.store(1, Relaxed);
        }
        let mut text = Text { bytes: [0; 1024], length: 0 };
        assert_eq!(compose(&mut text, &counts), Ok(()));
        let text = core::str::from_utf8(&text.bytes[..text.length]).expect("text");
        for part in [
            "replaced: 1 mutex, 0 rwlocks, 0 spinlocks\n",
            "library: 0 mutexes, 1 rwlock and 0 spinlocks between processes,\n",
            "syncline: 1 robust mutex, 0 with a priority protocol, 0 spinlocks for lack of",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}
