//! A thread's table of counts, with a row for each lock at each call site.
//!
//! Only the touched pages of a table take memory. Most threads touch only a page or two, because
//! neighbouring locks have neighbouring rows. When a thread ends, its table is given to a thread
//! that begins later, so there are never more tables than there were threads at once.
//!
//! A bit for each group of rows says whether the group was ever used, so that not all rows have to
//! be visited to write the counts.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::alloc::{self, List};

/// The number of rows in a table. It is so large because servers have about ten thousand locks.
pub const ROWS: usize = 1 << 14;
/// The number of slots that are tried for a row. If other rows occupy all of them, one of those is
/// written to the file and replaced.
pub const PROBES: usize = 8;
/// The number of rows in a group; they fill a page.
const GROUP: usize = 128;
/// The binary logarithm of the distance of locks that have neighbouring rows: 32 bytes, because
/// hardly any lock is smaller.
const LOCK_BITS: u32 = 5;

/// The tables that no thread uses.
static FREE: List = List::new();

/// Those fields of a row that every counted acquisition needs. They take only half a cache line,
/// because with a server's many locks each access is a cache miss.
#[repr(align(32))]
pub struct Row {
    /// The lock; 0 in a free row. Other threads than the table's owner access rows only at the end
    /// of tracing.
    pub lock: AtomicU64,
    /// The return address of the call.
    pub site: AtomicU64,
    pub acquisitions: AtomicU64,
    pub op: AtomicU32,
    /// Whether sections of this row are to be traced.
    pub selected: Cell<bool>,
    /// Whether, as far as is known, only few sections of its call site have been traced.
    pub rare: Cell<bool>,
}

/// The other fields of a row, which few acquisitions need.
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
    /// The link of the list [`FREE`] while no thread uses the table. In a forked child the table is
    /// wiped, and with it the link, so the child's list has only one table.
    link: AtomicU64,
    rows: [Row; ROWS],
    more: [More; ROWS],
}

impl More {
    /// All counts in it.
    pub fn counts(&self) -> [&AtomicU64; 5] {
        let More { contended, traced, waited, held, held_samples } = self;
        [contended, traced, waited, held, held_samples]
    }
}

/// A thread's rows.
#[derive(Clone, Copy)]
pub struct Rows {
    table: Option<&'static Table>,
    /// Which groups of rows have been used, a bit each.
    used: [u64; ROWS / GROUP / 64],
}

/// The result of a search for a row.
pub enum Slot {
    /// The row is in this slot.
    At(usize),
    /// There is no such row; this slot is free for it.
    Free(usize),
    /// There is no such row, and none of its slots is free. The row in this slot is to be replaced.
    Taken(usize),
}

impl Rows {
    /// Takes an empty table; `None` if there is no memory for one.
    pub fn take() -> Option<Rows> {
        Some(Rows { table: Some(take()?), used: [0; _] })
    }

    /// Rows without a table.
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

    /// Prefetches the row of a lock and a site into the cache, so that it arrives together with the
    /// lock itself.
    #[inline]
    pub fn prefetch(&self, lock: u64, site: u64) {
        if let Some(table) = self.table {
            let row = &raw const table.rows[Rows::first(lock, site)];
            // SAFETY: a prefetch is only a hint and changes no memory.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.cast()) };
        }
    }

    /// Looks for the row of a lock and a site. The position is the lock's address plus a hash of
    /// the site. So neighbouring locks have neighbouring rows, which suits a thread that acquires
    /// many neighbouring locks in turn.
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

    /// Notes that a row, and so its group, is used.
    pub fn use_row(&mut self, slot: usize) {
        let group = slot / GROUP;
        self.used[group / 64] |= 1 << (group % 64);
    }

    /// All rows of the groups that have been used, including the free ones.
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

    /// Empties the table, and keeps it for a thread that begins later.
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
    // SAFETY: a table of zeros is a valid, empty table. The table stays mapped, and only this
    // thread uses it, except that other threads access some words at the end of tracing, which are
    // atomic.
    unsafe { table.cast::<Table>().as_ref() }
}

/// Maps a table that is wiped in a forked child, which begins tables of its own. Otherwise the
/// pages of a thousand tables would be copied for each child of a process with a thousand threads.
fn map() -> *mut u8 {
    let table = alloc::map(size_of::<Table>(), 4096);
    if !table.is_null() {
        // SAFETY: no other code knows the memory yet. (A kernel that does not know this advice
        // copies the pages.)
        unsafe { libc::madvise(table.cast(), size_of::<Table>(), libc::MADV_WIPEONFORK) };
    }
    table
}

fn keep(table: &'static Table) {
    // SAFETY: the table's thread has ended, so nothing else uses the table. It stays mapped, and
    // its first word is an atomic one for the list's link.
    unsafe { FREE.give(table.link.as_ptr().cast()) }
}
