//! Call sites that a thread acquires at often, whose acquisitions are sampled.
//!
//! A server has ten thousand locks, and to find a lock's row for each acquisition costs a miss of the
//! cache, which is more than the lock itself. So within a budget, once a thread has acquired often
//! enough at a call site, only a random sample of its acquisitions there is counted, and each
//! stands for those that were passed over. Acquisitions that had to wait are all counted, each for
//! itself: so each of the others is sampled with the same chance, and stands for the others only.
//!
//! What is kept here lies in the thread's own words, where the entries of locks find it by a few
//! instructions (`interpose::passing`).

use syncline_trace::layout::COUNTED_ONE_BY_ONE;

use crate::tls;

/// Behind [`COUNTED_ONE_BY_ONE`] one in g on average is looked at, where g is the number so far,
/// rounded down to a power of 2, divided by this. The number of all at the site is then right to
/// 1.5 % in 19 of 20 cases, however many they are: of n further ones in gaps of 1 to 2 g - 1 alike,
/// the estimate's variance is n (g - 1) / 3.
const PER_LOOK: u32 = 2048;
/// The most acquisitions that one stands for: a smaller sample would save nothing.
const MOST: u32 = 256;
/// The number of slots for call sites, in pairs. Of sites that share a pair, all but two are
/// counted one by one.
pub const PLACES: usize = 1 << 6;
/// A site's pair is the upper bits of the product of its lower half and this: see [`pair`], and
/// `interpose::passing`, which does the same.
pub const MIX: i32 = 0x9e37_79b1_u32 as i32;
/// Bits that are left out of the product.
pub const SHIFT: u32 = u32::BITS + 1 - PLACES.ilog2();

/// What a thread knows of a call site.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Site {
    /// Return address; 0 if there is none yet.
    at: u64,
    /// The next acquisition that is looked at: 1, or less, is the very next. A handler of a signal
    /// may count it down while the thread does.
    next: i32,
    /// Acquisitions so far, as far as they are known; no more than [`MOST`] needs.
    count: u32,
}

/// Those that a thread knows.
type Sites = [[Site; 2]; PLACES / 2];

impl Site {
    /// Where a site's return address and its next acquisition lie, and its size as a power of 2, for
    /// assembly.
    pub const AT: usize = core::mem::offset_of!(Site, at);
    /// See [`Site::AT`].
    pub const NEXT: usize = core::mem::offset_of!(Site, next);
    /// See [`Site::AT`].
    pub const BITS: u32 = size_of::<Site>().trailing_zeros();

    /// How far it is to the next acquisition that is looked at, on average.
    fn gap(&self) -> u32 {
        if u64::from(self.count) < COUNTED_ONE_BY_ONE {
            return 1;
        }
        1 << (self.count / PER_LOOK).ilog2()
    }
}

const _: () = assert!(size_of::<Site>() == 1 << Site::BITS);
const _: () = assert!(size_of::<Sites>() == tls::SITES_BYTES);

/// Those that this thread knows.
fn sites() -> *mut Sites {
    tls::sites().cast()
}

/// Forgets what this thread knows: it is the first of a process that was forked, whose acquisitions
/// are counted one by one again.
pub fn forget() {
    // SAFETY: the thread's own words.
    unsafe { sites().write([[Site { at: 0, next: 0, count: 0 }; 2]; PLACES / 2]) };
}

/// For how many acquisitions the next one of this thread at a call site stands; 0 if it is passed
/// over.
#[inline]
pub fn stands_for(site: u64, random: impl FnOnce(u32) -> u32) -> u32 {
    // SAFETY: the thread's own words; a handler that comes between leaves sites that are whole.
    let [one, other] = &mut unsafe { &mut *sites() }[pair(site)];
    let known = match site {
        _ if one.at == site => one,
        _ if other.at == site => other,
        // The one that was met more often stays.
        _ => {
            let rarer = if one.count < other.count { one } else { other };
            if rarer.count == MOST * PER_LOOK {
                return 1;
            }
            *rarer = Site { at: site, next: 0, count: 0 };
            rarer
        }
    };
    known.next -= 1;
    if known.next > 0 {
        return 0;
    }
    let stands_for = known.gap();
    known.count = (known.count + stands_for).min(MOST * PER_LOOK);
    known.next = 1 + random(2 * known.gap() - 1) as i32;
    stands_for
}

/// Where the two places lie in which a call site may be.
fn pair(site: u64) -> usize {
    ((site as u32).wrapping_mul(MIX as u32) >> SHIFT) as usize
}
