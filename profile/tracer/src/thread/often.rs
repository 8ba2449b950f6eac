//! Samples acquisitions at call sites at which a thread acquires locks often.
//!
//! If a server has ten thousand locks, finding a lock's row at each acquisition costs a cache miss,
//! which takes longer than the acquisition itself. So if there is a budget, and a thread has
//! acquired often enough at a call site, only a random sample of its acquisitions there is counted.
//! Each counted one stands for those that were passed over before it. But all acquisitions that had
//! to wait are counted, and each of them stands only for itself. So the sample is taken only from
//! acquisitions that did not wait, each with the same probability.
//!
//! The call sites are kept in thread-local storage, where the interposed functions find them with a
//! few instructions (`interpose::passing`).

use syncline_trace::layout::COUNTED_ONE_BY_ONE;

use crate::tls;

/// After [`COUNTED_ONE_BY_ONE`] acquisitions, on average one in g is counted. g is the number of
/// acquisitions so far, divided by this and rounded down to a power of 2. The estimated number of
/// all acquisitions at the site is then right to 1.5 % in 19 of 20 cases, however many there are.
/// (The gaps are uniform from 1 to 2 g - 1, so the variance of the estimate of n further
/// acquisitions is n (g - 1) / 3.)
const PER_LOOK: u32 = 2048;
/// An acquisition stands for at most this many. A smaller sample would hardly save more time.
const MOST: u32 = 256;
/// The number of slots for call sites. They are grouped into pairs, and a site may be in either
/// slot of one pair. If more than two sites have the same pair, the acquisitions of those without a
/// slot are counted one by one.
pub const PLACES: usize = 1 << 6;
/// The lower half of a site is multiplied by this, and the upper bits of the product are the number
/// of the site's pair (in [`pair`], and also in `interpose::passing`).
pub const MIX: i32 = 0x9e37_79b1_u32 as i32;
/// How many low bits of that product are dropped.
pub const SHIFT: u32 = u32::BITS + 1 - PLACES.ilog2();

/// The state of a thread's sampling at a call site.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Site {
    /// The site's return address; 0 in a free slot.
    at: u64,
    /// How far away the next acquisition to be counted is; 1 or less means the very next one. A
    /// signal handler may count this down at the same time as the thread.
    next: i32,
    /// The estimated number of acquisitions so far, but at most the number from which on the gap is
    /// [`MOST`].
    count: u32,
}

/// The call sites that a thread keeps.
type Sites = [[Site; 2]; PLACES / 2];

impl Site {
    /// The offset of `at`, for assembly.
    pub const AT: usize = core::mem::offset_of!(Site, at);
    /// The offset of `next`, for assembly.
    pub const NEXT: usize = core::mem::offset_of!(Site, next);
    /// The binary logarithm of a site's size, for assembly.
    pub const BITS: u32 = size_of::<Site>().trailing_zeros();

    /// The average distance from one counted acquisition to the next.
    fn gap(&self) -> u32 {
        if u64::from(self.count) < COUNTED_ONE_BY_ONE {
            return 1;
        }
        1 << (self.count / PER_LOOK).ilog2()
    }
}

const _: () = assert!(size_of::<Site>() == 1 << Site::BITS);
const _: () = assert!(size_of::<Sites>() == tls::SITES_BYTES);

/// The address of the call sites that this thread keeps.
fn sites() -> *mut Sites {
    tls::sites().cast()
}

/// Forgets all call sites of this thread, the only one of a forked child. Its acquisitions are
/// counted one by one again at first.
pub fn forget() {
    // SAFETY: the thread's own words.
    unsafe { sites().write([[Site { at: 0, next: 0, count: 0 }; 2]; PLACES / 2]) };
}

/// For how many acquisitions this thread's next one at a call site stands; 0 if it is passed over.
/// `random` returns a random number below its argument.
#[inline]
pub fn stands_for(site: u64, random: impl FnOnce(u32) -> u32) -> u32 {
    // SAFETY: the words are thread-local. A site consists of numbers only, which stay valid even if
    // a signal handler changes them in between.
    let [one, other] = &mut unsafe { &mut *sites() }[pair(site)];
    let known = match site {
        _ if one.at == site => one,
        _ if other.at == site => other,
        // The site is in neither slot. It takes the slot of the site with fewer acquisitions.
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

/// The number of the pair of slots in which a call site belongs.
fn pair(site: u64) -> usize {
    ((site as u32).wrapping_mul(MIX as u32) >> SHIFT) as usize
}
