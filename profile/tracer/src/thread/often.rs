//! Call sites that a thread acquires at often, whose acquisitions are sampled.
//!
//! If a server has ten thousand locks, finding a lock's row at each acquisition costs a cache miss,
//! which is more than the lock itself. So within a budget, after a thread has acquired often enough
//! at a call site, only a random sample of its acquisitions there is counted, and each stands for
//! those that were passed over. All acquisitions that had to wait are counted, and each stands for
//! itself only. The sample is one of the acquisitions that did not wait: each of them is drawn with
//! the same probability, and stands only for others of this kind.
//!
//! The call sites are kept in thread-local storage, where the entries of lock functions find them
//! by a few instructions (`interpose::passing`).

use syncline_trace::layout::COUNTED_ONE_BY_ONE;

use crate::tls;

/// After [`COUNTED_ONE_BY_ONE`] acquisitions, one in g on average is looked at, where g is their
/// number so far, rounded down to a power of 2, divided by this. The estimated number of all
/// acquisitions at the site is then right to 1.5 % in 19 of 20 cases, however many they are: with
/// gaps uniform from 1 to 2 g - 1, the variance of the estimate of n further ones is n (g - 1) / 3.
const PER_LOOK: u32 = 2048;
/// The most acquisitions that one stands for: a smaller sample would save nothing.
const MOST: u32 = 256;
/// The number of slots for call sites, in pairs. If more than two sites share a pair, those without
/// a slot are counted one by one.
pub const PLACES: usize = 1 << 6;
/// The number of a site's pair is the upper bits of the product of the site's lower half and this:
/// see [`pair`], and `interpose::passing`, which does the same.
pub const MIX: i32 = 0x9e37_79b1_u32 as i32;
/// The number of low bits of the product that are dropped.
pub const SHIFT: u32 = u32::BITS + 1 - PLACES.ilog2();

/// The state of a thread's sampling at a call site.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Site {
    /// Return address; 0 if there is none yet.
    at: u64,
    /// How far the next acquisition that is looked at is away: 1 or less means the very next. A
    /// signal handler may count this down while the thread does.
    next: i32,
    /// The estimated number of acquisitions so far, up to the one that [`MOST`] corresponds to.
    count: u32,
}

/// The call sites that a thread keeps.
type Sites = [[Site; 2]; PLACES / 2];

impl Site {
    /// For assembly: the offsets of `at` and `next`, and the binary logarithm of a site's size.
    pub const AT: usize = core::mem::offset_of!(Site, at);
    /// See [`Site::AT`].
    pub const NEXT: usize = core::mem::offset_of!(Site, next);
    /// See [`Site::AT`].
    pub const BITS: u32 = size_of::<Site>().trailing_zeros();

    /// The average distance to the next acquisition that is looked at.
    fn gap(&self) -> u32 {
        if u64::from(self.count) < COUNTED_ONE_BY_ONE {
            return 1;
        }
        1 << (self.count / PER_LOOK).ilog2()
    }
}

const _: () = assert!(size_of::<Site>() == 1 << Site::BITS);
const _: () = assert!(size_of::<Sites>() == tls::SITES_BYTES);

/// The call sites that this thread keeps.
fn sites() -> *mut Sites {
    tls::sites().cast()
}

/// Forgets all call sites of this thread. It is the first thread of a forked process, whose
/// acquisitions are counted one by one again.
pub fn forget() {
    // SAFETY: the thread's own words.
    unsafe { sites().write([[Site { at: 0, next: 0, count: 0 }; 2]; PLACES / 2]) };
}

/// The number of acquisitions that the next one of this thread at a call site stands for; 0 if it
/// is passed over.
#[inline]
pub fn stands_for(site: u64, random: impl FnOnce(u32) -> u32) -> u32 {
    // SAFETY: thread-local words, and each site is plain numbers that stay valid if a signal
    // handler changes them in between.
    let [one, other] = &mut unsafe { &mut *sites() }[pair(site)];
    let known = match site {
        _ if one.at == site => one,
        _ if other.at == site => other,
        // Of the two, the site that was met more often stays.
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

/// The number of the pair of slots in which a call site may be.
fn pair(site: u64) -> usize {
    ((site as u32).wrapping_mul(MIX as u32) >> SHIFT) as usize
}
