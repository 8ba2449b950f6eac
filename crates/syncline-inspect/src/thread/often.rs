//! Call sites that a thread acquires at often, whose acquisitions are not all looked at.
//!
//! A server has ten thousand locks, and to find a lock's row for each acquisition costs a miss of the
//! cache, which is more than the lock itself. So within a budget, once a thread has acquired often
//! enough at a call site, only some of its acquisitions there are looked at, at random, and each
//! stands for those that were passed over. Those that had to wait are all counted, each for itself:
//! then each of the others is looked at with the same chance, and what it stands for is theirs.
//!
//! What is kept here lies in the thread's own words, where the entries of locks find it by a few
//! instructions (`interpose::passing`).

use syncline_trace::layout::COUNTED_ONE_BY_ONE;

use crate::tls;

/// Of those behind [`COUNTED_ONE_BY_ONE`], one in so many on average is looked at. The number of all
/// at the site is then right to 1.8 %, in 19 of 20 cases: of n further ones, in gaps of 1 to 31
/// alike, the estimate's variance is 5 n, which weighs most where n is as many again.
const STANDS_FOR: u32 = 16;
/// Places for call sites; those that share one are counted one by one for longer.
pub const PLACES: usize = 64;

/// What a thread knows of a call site.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Site {
    /// Return address; 0 if there is none yet.
    at: u64,
    /// The next acquisition that is looked at: 1 is the very next. A handler of a signal may count
    /// it down while the thread does.
    next: i32,
    /// Acquisitions that were counted one by one.
    count: u32,
}

impl Site {
    /// Where a site's return address and its next acquisition lie, and its size as a power of 2, for
    /// assembly.
    pub const AT: usize = core::mem::offset_of!(Site, at);
    /// See [`Site::AT`].
    pub const NEXT: usize = core::mem::offset_of!(Site, next);
    /// See [`Site::AT`].
    pub const BITS: u32 = size_of::<Site>().trailing_zeros();
}

const _: () = assert!(size_of::<Site>() == 1 << Site::BITS);

/// Forgets what this thread knows: it is the first of a process that was forked, whose acquisitions
/// are counted one by one again.
pub extern "C" fn forget() {
    // SAFETY: the thread's own words.
    unsafe { tls::sites().write([Site { at: 0, next: 0, count: 0 }; PLACES]) };
}

/// For how many acquisitions the next one of this thread at a call site stands; 0 if it is passed
/// over.
#[inline]
pub fn stands_for(site: u64, random: impl FnOnce(u32) -> u32) -> u32 {
    // SAFETY: the thread's own words; a handler that comes between leaves a site that is whole.
    let known = unsafe { &mut (*tls::sites())[place(site)] };
    if known.at != site {
        *known = Site { at: site, next: 0, count: 0 };
    }
    if u64::from(known.count) < COUNTED_ONE_BY_ONE {
        known.count += 1;
        return 1;
    }
    known.next -= 1;
    if known.next > 0 {
        return 0;
    }
    // From 1 to twice as many less 1, which are STANDS_FOR on average.
    known.next = 1 + random(2 * STANDS_FOR - 1) as i32;
    STANDS_FOR
}

/// The place of a call site. As `interpose::passing` has it.
fn place(site: u64) -> usize {
    (site ^ site >> 6) as usize % PLACES
}
