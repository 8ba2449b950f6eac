//! Places the program's threads on processors, as `syncline exec --place` requests.
//! `SYNCLINE_PLACE` is
//!
//! ```text
//!   set 0,2,4      all threads on these processors
//!   each 0,2,1,3   the first thread on the first of them, the next thread on the next, in turn
//! ```
//!
//! A thread inherits the processors of the thread that creates it. So the creating thread moves to
//! the new thread's processor for the time of the creation. A thread that chooses processors itself
//! keeps its choice.

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, size_of};
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed};

use syncline_interpose::{fail, preserving_errno};

use crate::options;

/// The number of processors that a set of the C library can hold.
const MOST: usize = libc::CPU_SETSIZE as usize;

/// The processors that threads take in turn.
static AROUND: [AtomicU16; MOST] = [const { AtomicU16::new(0) }; MOST];
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// The turn of the next thread. Turn 0 is the first thread's.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Places the first thread, at the program's start.
pub fn start() {
    let text = options::place();
    if text.is_empty() {
        return;
    }
    let wrong = || -> ! { fail(&[b"this library can't read SYNCLINE_PLACE: ", text]) };
    let (all, list) = match (text.strip_prefix(b"set "), text.strip_prefix(b"each ")) {
        (Some(list), _) => (true, list),
        (_, Some(list)) => (false, list),
        _ => wrong(),
    };
    let mut set = empty();
    let mut length = 0;
    for word in list.split(|&b| b == b',') {
        let number = core::str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok());
        let Some(number) = number.filter(|&n| n < MOST && length < MOST) else { wrong() };
        // SAFETY: the number is less than the set's size.
        unsafe { libc::CPU_SET(number, &mut set) };
        AROUND[length].store(number as u16, Relaxed);
        length += 1;
    }
    if all {
        move_to(&set);
    } else {
        move_to(&one(0));
        // Relaxed: created threads see the stores that their creator has seen.
        LENGTH.store(length, Relaxed);
    }
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: a set consists of words, for which all zero is valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The processor of a turn.
fn one(turn: usize) -> libc::cpu_set_t {
    let mut set = empty();
    // SAFETY: all numbers in `AROUND` are less than the set's size.
    unsafe { libc::CPU_SET(usize::from(AROUND[turn % MOST].load(Relaxed)), &mut set) };
    set
}

/// Moves this thread to these processors. A thread that may not run there stays where it is.
fn move_to(set: &libc::cpu_set_t) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the pointer is to a set of this size.
    preserving_errno(|| unsafe { libc::sched_setaffinity(0, size, set) });
}

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_create(thread: *mut libc::pthread_t, attributes: *const c_void, start: Start, argument: *mut c_void) -> c_int;
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let length = LENGTH.load(Relaxed);
    // SAFETY: the program's own call; the pointers to sets come with their size.
    unsafe {
        if length == 0 {
            return real::pthread_create(thread, attributes, start, argument);
        }
        let mut own = empty();
        let size = size_of::<libc::cpu_set_t>();
        let known = preserving_errno(|| libc::sched_getaffinity(0, size, &mut own)) == 0;
        if known {
            move_to(&one(NEXT.fetch_add(1, Relaxed) % length));
        }
        let result = real::pthread_create(thread, attributes, start, argument);
        if known {
            move_to(&own);
        }
        result
    }
}
