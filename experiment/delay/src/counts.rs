//! Counts how often each call site was reached, in a file that the command reads.
//!
//! ```text
//!   line 0      word 0: how many lines were given out;  word 1: how often the library was loaded
//!   line 1..    each of one thread: for each call site, its sections, refused tries and waits;
//!               word 15: ticks that passed in delays
//! ```
//!
//! A line has 16 words of 64 bits. The file is mapped and shared, so that it has all counts of a
//! process that is killed, and of all processes of several runs. If there are more threads than
//! lines, the last line is shared.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use libc::{MAP_FAILED, MAP_SHARED, O_CLOEXEC, O_RDWR, PROT_READ, PROT_WRITE};

use crate::options::{self, Kind};
use crate::sites::Site;
use crate::tls::{line, set_line};

/// The number of counters of each call site.
const KINDS: usize = 3;
/// The number of threads that have a line of their own. The command makes the file large enough for
/// them.
const LINES: usize = 4096;

#[repr(C, align(128))]
struct Line([AtomicU64; 16]);

/// The file's first line; null if there is no file.
static FILE: AtomicPtr<Line> = AtomicPtr::new(null_mut());

/// Maps the file, if the environment names one.
pub fn start() {
    let Some(path) = options::counts() else { return };
    // SAFETY: the path is a variable of the environment. The mapping is new, at an address of the
    // kernel's choice, and the command has made the file large enough.
    unsafe {
        let file = libc::open(path.as_ptr(), O_RDWR | O_CLOEXEC);
        if file < 0 {
            return;
        }
        let size = (1 + LINES) * size_of::<Line>();
        let mapped = libc::mmap(null_mut(), size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        libc::close(file);
        if mapped != MAP_FAILED {
            let first = mapped.cast::<Line>();
            (*first).0[1].fetch_add(1, Relaxed);
            FILE.store(first, Relaxed);
        }
    }
}

/// The word in which ticks are summed.
const PASSED: usize = 15;

/// Counts one occurrence of this kind at a call site.
#[inline(always)]
pub fn count(site: Site, kind: Kind) {
    add(site.index() * KINDS + kind as usize, 1);
}

/// Adds the ticks that have passed in a delay.
#[inline(always)]
pub fn passed(ticks: u64) {
    add(PASSED, ticks);
}

#[inline(always)]
fn add(word: usize, number: u64) {
    let at = match line() {
        0 => new_line(),
        at => at as *const Line,
    };
    // SAFETY: null, or a line of the file, which is never unmapped.
    if let Some(line) = unsafe { at.as_ref() } {
        // The addition is atomic, since a child of `fork` continues with the line of the thread
        // that forked, and there may be more threads than lines. Relaxed: the counts are read after
        // all processes have ended.
        line.0[word].fetch_add(number, Relaxed);
    }
}

#[cold]
fn new_line() -> *const Line {
    let first = FILE.load(Relaxed);
    if first.is_null() {
        return first;
    }
    // SAFETY: the file has this many lines.
    let line = unsafe {
        let number = (*first).0[0].fetch_add(1, Relaxed) as usize;
        first.add(1 + number.min(LINES - 1))
    };
    set_line(line.addr());
    line
}
