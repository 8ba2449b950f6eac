//! A thread's table of acquisitions by lock and call site.
//!
//! Tables are memory of which only what is touched becomes real: most threads touch a page or two,
//! since locks that lie beside each other have rows beside each other. That of a thread that has
//! ended goes to one that begins, so there are never more tables than there were threads at once.
//!
//! Which groups of rows were ever used is known by a bit each, so that writing them out doesn't
//! walk over the whole table.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::alloc::{self, List};

/// The number of slots for (lock, call site): servers have some ten thousand locks.
pub const ROWS: usize = 1 << 14;
/// The number of slots that are looked at for a row. If others have them all, one of theirs is
/// written out.
pub const PROBES: usize = 8;
/// The number of rows of a group: those of a page.
const GROUP: usize = 128;
/// A lock's address counts in units of this many bytes, as a power of 2: no lock is much smaller.
const LOCK_BITS: u32 = 5;

/// Tables that wait for a thread.
static FREE: List = List::new();

/// What each acquisition of a lock at a call site needs: half a line of the cache, since a server's
/// many locks make of it a miss.
#[repr(align(32))]
pub struct Row {
    /// What will be written: everything but the thread's owner only reads it at the end.
    pub lock: AtomicU64,
    /// Return address.
    pub site: AtomicU64,
    pub acquisitions: AtomicU64,
    pub op: AtomicU32,
    /// Whether its sections are to be traced.
    pub selected: Cell<bool>,
    /// Whether its site has had few, as far as is known.
    pub rare: Cell<bool>,
}

/// What few acquisitions need.
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
    /// While it waits, that of the list; a list that was wiped in a child has one table.
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
    /// Groups that were used.
    used: [u64; ROWS / GROUP / 64],
}

/// Where a row is.
pub enum Slot {
    /// Here.
    At(usize),
    /// Nowhere yet; this one is free.
    Free(usize),
    /// Nowhere, and no slot near it is free; this row is in the way.
    Taken(usize),
}

impl Rows {
    /// An empty table; `None` if there is no memory.
    pub fn take() -> Option<Rows> {
        Some(Rows { table: Some(take()?), used: [0; _] })
    }

    /// A table without rows.
    pub const fn none() -> Rows {
        Rows { table: None, used: [0; _] }
    }

    /// Whether it is such a one.
    pub fn is_none(&self) -> bool {
        self.table.is_none()
    }

    /// One of them.
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

    /// Prefetches the row of a lock and a site, while the lock itself is fetched.
    #[inline]
    pub fn prefetch(&self, lock: u64, site: u64) {
        if let Some(table) = self.table {
            let row = &raw const table.rows[Rows::first(lock, site)];
            // SAFETY: a hint, which changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.cast()) };
        }
    }

    /// Looks for the row of a lock and a site. Call sites are scattered, locks are not: a thread
    /// that takes many in turn takes neighbours.
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

    /// The rows of all groups that were used.
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
    // SAFETY: zeros are an empty table, which stays mapped, and is this thread's alone but for the
    // words that others read at the process's end, which are atomic.
    unsafe { table.cast::<Table>().as_ref() }
}

/// A forked child, which begins tables of its own, finds these empty: else each child of a process with
/// a thousand threads would have a thousand tables' pages copied.
fn map() -> *mut u8 {
    let table = alloc::map(size_of::<Table>(), 4096);
    if !table.is_null() {
        // SAFETY: the memory is ours alone. A kernel that doesn't know this copies the pages.
        unsafe { libc::madvise(table.cast(), size_of::<Table>(), libc::MADV_WIPEONFORK) };
    }
    table
}

fn keep(table: &'static Table) {
    // SAFETY: its thread has ended. It stays mapped, and the first word is the list's.
    unsafe { FREE.give(table.link.as_ptr().cast()) }
}
