//! A thread's table of acquisitions by lock and call site.
//!
//! Only touched pages of a table take memory, and most threads touch a page or two, because
//! neighbouring locks have neighbouring rows. The table of a thread that has ended is used by one
//! that begins, so there are never more tables than there were threads at once.
//!
//! A bit for each group of rows says whether the group was ever used, so that writing the rows
//! doesn't walk over the whole table.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::alloc::{self, List};

/// The number of slots for pairs of a lock and a call site: servers have some ten thousand locks.
pub const ROWS: usize = 1 << 14;
/// The number of slots that are tried for a row. If other rows have all of these, one of them is
/// written out and replaced.
pub const PROBES: usize = 8;
/// The number of rows of a group, which fill a page.
const GROUP: usize = 128;
/// The binary logarithm of the unit in which a lock's address counts: no lock is much smaller than
/// 32 bytes.
const LOCK_BITS: u32 = 5;

/// Tables that no thread uses.
static FREE: List = List::new();

/// The fields that each acquisition of a lock at a call site needs. They take half a cache line,
/// since with a server's many locks the access is a miss.
#[repr(align(32))]
pub struct Row {
    /// The lock; 0 in a free row. Threads other than the table's owner only access rows at the end
    /// of tracing.
    pub lock: AtomicU64,
    /// The return address of the call.
    pub site: AtomicU64,
    pub acquisitions: AtomicU64,
    pub op: AtomicU32,
    /// Whether its sections are to be traced.
    pub selected: Cell<bool>,
    /// Whether few sections of its site were traced, as far as is known.
    pub rare: Cell<bool>,
}

/// The fields that few acquisitions need.
pub struct More {
    pub contended: AtomicU64,
    pub traced: AtomicU64,
    pub waited: AtomicU64,
    pub held: AtomicU64,
    pub held_samples: AtomicU64,
}

const _: () = assert!(size_of::<Row>() == 32);

#[repr(C)]
struct Table {
    /// The list's link while no thread uses the table. A forked child finds it wiped, so the
    /// child's list has one table only.
    link: AtomicU64,
    rows: [Row; ROWS],
    more: [More; ROWS],
}

impl More {
    /// Its counts.
    pub fn counts(&self) -> [&AtomicU64; 5] {
        let More { contended, traced, waited, held, held_samples } = self;
        [contended, traced, waited, held, held_samples]
    }
}

/// A thread's rows.
#[derive(Clone, Copy)]
pub struct Rows {
    table: Option<&'static Table>,
    /// The groups of rows that were used, a bit each.
    used: [u64; ROWS / GROUP / 64],
}

/// The result of a search for a row.
pub enum Slot {
    /// The row is in this slot.
    At(usize),
    /// There is no such row yet; this slot is free.
    Free(usize),
    /// There is no such row, and none of its slots is free; this slot's row may be replaced.
    Taken(usize),
}

impl Rows {
    /// An empty table; `None` if there is no memory.
    pub fn take() -> Option<Rows> {
        Some(Rows { table: Some(take()?), used: [0; _] })
    }

    /// The absence of a table.
    pub const fn none() -> Rows {
        Rows { table: None, used: [0; _] }
    }

    /// Whether there is no table.
    pub fn is_none(&self) -> bool {
        self.table.is_none()
    }

    /// The row in a slot; `None` if there is no table.
    #[inline]
    pub fn at(&self, slot: usize) -> Option<(&'static Row, &'static More)> {
        let table = self.table?;
        Some((&table.rows[slot % ROWS], &table.more[slot % ROWS]))
    }

    #[inline]
    fn first(lock: u64, site: u64) -> usize {
        let scattered = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (lock >> LOCK_BITS).wrapping_add(scattered) as usize % ROWS
    }

    /// Prefetches the row of a lock and a site, at the same time as the lock itself is fetched.
    #[inline]
    pub fn prefetch(&self, lock: u64, site: u64) {
        if let Some(table) = self.table {
            let row = &raw const table.rows[Rows::first(lock, site)];
            // SAFETY: a hint, which changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.cast()) };
        }
    }

    /// Looks for the row of a lock and a site. The position depends on a hash of the site, but
    /// directly on the lock's address: a thread that acquires many locks in turn acquires
    /// neighbours.
    #[inline]
    pub fn find(&self, lock: u64, site: u64) -> Slot {
        let Some(table) = self.table else { return Slot::Taken(0) };
        let first = Rows::first(lock, site);
        for probe in 0..PROBES {
            let slot = (first + probe) % ROWS;
            let row = &table.rows[slot];
            let found = (row.lock.load(Ordering::Relaxed), row.site.load(Ordering::Relaxed));
            if found == (lock, site) {
                return Slot::At(slot);
            }
            if found.0 == 0 {
                return Slot::Free(slot);
            }
        }
        Slot::Taken(first)
    }

    /// Notes that a row is used.
    pub fn use_row(&mut self, slot: usize) {
        let group = slot / GROUP;
        self.used[group / 64] |= 1 << (group % 64);
    }

    /// All rows of the groups that were used.
    pub fn used(&self) -> impl Iterator<Item = (&'static Row, &'static More)> + use<> {
        let Rows { table, used } = *self;
        let is_used = move |slot: &usize| {
            let group = slot / GROUP;
            used[group / 64] >> (group % 64) & 1 != 0
        };
        let slots = (0..ROWS).step_by(GROUP).filter(is_used).flat_map(|first| first..first + GROUP);
        table.into_iter().flat_map(move |table| {
            slots.clone().map(move |slot| (&table.rows[slot], &table.more[slot]))
        })
    }

    /// Empties the table, and keeps it for another thread.
    pub fn give_back(self) {
        let Some(table) = self.table else { return };
        for (row, _) in self.used().filter(|(row, _)| row.lock.load(Ordering::Relaxed) != 0) {
            row.lock.store(0, Ordering::Relaxed);
        }
        keep(table);
    }
}

fn take() -> Option<&'static Table> {
    let spare = FREE.take();
    let table = if spare.is_null() { map() } else { spare };
    // SAFETY: zeros are an empty table. It stays mapped, and only this thread uses it, except for
    // words that other threads access at the end of tracing, which are atomic.
    unsafe { table.cast::<Table>().as_ref() }
}

/// Maps a table, which a forked child finds wiped, since it begins tables of its own. Otherwise the
/// pages of a thousand tables would be copied for each child of a process with a thousand threads.
fn map() -> *mut u8 {
    let table = alloc::map(size_of::<Table>(), 4096);
    if !table.is_null() {
        // SAFETY: no other code knows the memory yet. A kernel without this advice copies the
        // pages.
        unsafe { libc::madvise(table.cast(), size_of::<Table>(), libc::MADV_WIPEONFORK) };
    }
    table
}

fn keep(table: &'static Table) {
    // SAFETY: the table's thread has ended. The table stays mapped, and its first word is an atomic
    // one for the list.
    unsafe { FREE.give(table.link.as_ptr().cast()) }
}
