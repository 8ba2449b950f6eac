//! The group of near processors in which this thread runs.
//!
//! The topology is read once, when a thread first asks. A thread that asks meanwhile gets group 0
//! and doesn't wait. It may be the reading thread itself: reading allocates, and if the allocator
//! acquires a lock that asks for the group, the thread would wait for itself. On systems other than
//! Linux, and without `std`, all processors are one group. Miri shows
//! no machine's topology, so under Miri threads keep moving among eight groups.

#[cfg(not(any(miri, all(feature = "std", target_os = "linux"))))]
pub(super) use elsewhere::*;
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
pub(super) use linux::*;
#[cfg(miri)]
pub(super) use miri::*;

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod linux {
    use core::sync::atomic::AtomicU32;
    use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::path::Path;
    use std::sync::OnceLock;

    use crate::memory::topology::{LEVELS, Topology};

    static TOPOLOGY: OnceLock<Topology> = OnceLock::new();

    /// A bit for each level that has several groups. `UNKNOWN` until a thread asks for its group; 0
    /// while that thread reads the topology.
    static DIVIDED: AtomicU32 = AtomicU32::new(UNKNOWN);
    const UNKNOWN: u32 = u32::MAX;

    /// The number of this thread's group at a level; see
    /// [`Memory::group`](crate::memory::Memory::group).
    #[inline]
    pub fn current(level: usize) -> usize {
        if is_divided(level) { find(level) } else { 0 }
    }

    /// Whether a level has several groups; see
    /// [`Memory::is_divided`](crate::memory::Memory::is_divided). Until a thread asks for a group,
    /// all levels count as divided.
    #[inline]
    pub fn is_divided(level: usize) -> bool {
        // Acquire: pairs with the Release in `look`; if `look` has set a bit, the topology is there.
        level < LEVELS && DIVIDED.load(Acquire) & (1 << level) != 0
    }

    fn find(level: usize) -> usize {
        let Some(topology) = TOPOLOGY.get() else {
            return look(level);
        };
        // SAFETY: the call takes no arguments.
        let processor = unsafe { libc::sched_getcpu() };
        // An error is negative.
        usize::try_from(processor).map_or(0, |processor| topology.group(processor, level))
    }

    #[cold]
    fn look(level: usize) -> usize {
        // Relaxed: the exchange only decides which thread reads the topology.
        if DIVIDED.compare_exchange(UNKNOWN, 0, Relaxed, Relaxed).is_err() {
            return 0;
        }
        let topology = TOPOLOGY.get_or_init(|| Topology::read(Path::new("/sys/devices/system")));
        let divided = (0..LEVELS).filter(|&level| topology.is_divided(level));
        // Release: pairs with the Acquire in `is_divided`.
        DIVIDED.store(divided.map(|level| 1 << level).sum(), Release);
        current(level)
    }
}

#[cfg(miri)]
mod miri {
    use core::sync::atomic::AtomicUsize;
    use core::sync::atomic::Ordering::Relaxed;

    const LEVELS: usize = 3;
    /// `STAY` calls in a row, by any threads, get the same group, so that some waiters are near
    /// each other.
    const STAY: usize = 3;

    /// The number of this thread's group at a level. Each level divides each group of the level
    /// before in two, and threads change their groups often.
    pub fn current(level: usize) -> usize {
        static LOOKS: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: a stronger ordering would hide races from Miri.
        let place = LOOKS.fetch_add(1, Relaxed) / STAY % (1 << LEVELS);
        place >> (LEVELS - 1).saturating_sub(level)
    }

    pub fn is_divided(level: usize) -> bool {
        level < LEVELS
    }
}

#[cfg(not(any(miri, all(feature = "std", target_os = "linux"))))]
mod elsewhere {
    pub fn current(_level: usize) -> usize {
        0
    }

    pub fn is_divided(_level: usize) -> bool {
        false
    }
}
