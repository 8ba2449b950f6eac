//! Finds the heap's blocks by address. A table covers the whole address space, but only the parts
//! in use take memory.
//!
//! ```text
//! roots    one word for each 2 MiB of addresses: the address of their leaf
//! leaf     two words for each 16 bytes: the size and serial number of a block that starts there,
//!          and the call site of its allocation
//!          one word for each 4 KiB: the start of a block that covers the page's first byte
//! ```
//!
//! A block is noted where it starts, and in the word of each further page that it reaches. To find
//! the block of an address, the word of the address's page is read first. If it leads to a live
//! block that covers the address, that is the block. Otherwise the search walks back from the
//! address, to the start of a live block that covers it or to the beginning of the page. The walk
//! has at most 256 steps, and is done for traced sections only. Noting a block takes a look-up and
//! two stores, and a look-up and a store for each further page that it reaches.
//!
//! A freed block stays noted, as freed, until another block starts at the same address. A later
//! block may cover the start of a freed one. So if both a live and a freed block cover an address,
//! the live one is the result.
//!
//! While a thread writes the words of a block, no other thread writes them, because the thread has
//! just got this memory or is about to free it. A thread that reads at the same time may see one
//! word of an old block and one of a new block.

use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicPtr, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use syncline_trace::layout::ObjectRecord;

use crate::aside;

/// The number of bits of an address in user space.
const ADDRESS_BITS: u32 = 47;
/// The binary logarithm of the number of bytes of address space that a leaf is for.
const LEAF_BITS: u32 = 21;
/// Blocks start at multiples of this, the alignment of `malloc`.
const GRANULE: u64 = 16;
const PAGE: u64 = 4096;
/// The pages of a block after its first gibibyte are not noted: the cost grows with the block's
/// size, and a program that reserves more than 1 GiB rarely touches all of it.
const LARGEST: u64 = 1 << 30;

const ROOTS: usize = 1 << (ADDRESS_BITS - LEAF_BITS);
const GRANULES: usize = 1 << (LEAF_BITS - GRANULE.ilog2());
const PAGES: usize = 1 << (LEAF_BITS - PAGE.ilog2());

/// The low bits of a word that hold a size or an address.
const LOW: u64 = (1 << 48) - 1;
/// This bit of the word `site` says that the block was freed.
const FREED: u64 = 1 << 63;

/// The two words for 16 bytes of memory: the block that starts there, if any.
struct Start {
    /// The block's size in the low bits, and in the high 16 bits its serial number among the blocks
    /// that started here.
    size: AtomicU64,
    /// The call site of its allocation, and [`FREED`] if it was freed; 0 if no block ever started
    /// here.
    site: AtomicU64,
}

struct Leaf {
    starts: [Start; GRANULES],
    /// The start of a block that covers the page's first byte.
    pages: [AtomicU64; PAGES],
}

static TABLE: AtomicPtr<AtomicPtr<Leaf>> = AtomicPtr::new(null_mut());

/// Maps zeroed memory; null if the mapping fails. Only touched pages take space.
fn map<T>() -> *mut T {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: this makes a new mapping at an address of the kernel's choice. The system call is
    // made directly because the program may have replaced libc's function.
    let mapped = aside::allowed(|| unsafe {
        libc::syscall(libc::SYS_mmap, 0usize, size_of::<T>(), access, kind, -1isize, 0usize)
    });
    mapped.filter(|&mapped| mapped != -1).map_or(null_mut(), |mapped| mapped as *mut T)
}

fn unmap<T>(mapping: *mut T) {
    // SAFETY: the caller has just made the mapping, and no other thread knows its address.
    aside::allowed(|| unsafe { libc::syscall(libc::SYS_munmap, mapping, size_of::<T>()) });
}

/// The object that `word` points to. It is mapped when it is first needed; `None` if it can't be
/// mapped.
fn get_or_map<T, M>(word: &AtomicPtr<T>) -> Option<&'static T> {
    // Acquire pairs with the exchange below. It ensures that a thread which sees the address of the
    // object also sees the object's zeros.
    let mut found = word.load(Acquire);
    if found.is_null() {
        let new = map::<M>().cast::<T>();
        if new.is_null() {
            return None;
        }
        found = match word.compare_exchange(null_mut(), new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(other) => {
                unmap(new.cast::<M>());
                other
            }
        };
    }
    // SAFETY: it was mapped with the size of `M`, which begins with a `T`, and stays mapped.
    Some(unsafe { &*found })
}

/// The word that points to the leaf of an address. `None` if the address is not in user space, or
/// if there is no table and it isn't made (because `make` is false, or the mapping fails).
fn root(address: u64, make: bool) -> Option<&'static AtomicPtr<Leaf>> {
    if address >> ADDRESS_BITS != 0 {
        return None;
    }
    let first = match make {
        true => get_or_map::<AtomicPtr<Leaf>, [AtomicPtr<Leaf>; ROOTS]>(&TABLE)?,
        // SAFETY: the table is never unmapped.
        false => unsafe { TABLE.load(Acquire).as_ref()? },
    };
    // SAFETY: the table has a word for each leaf of the address space.
    Some(unsafe { &*core::ptr::from_ref(first).add((address >> LEAF_BITS) as usize) })
}

fn leaf(address: u64, make: bool) -> Option<&'static Leaf> {
    let root = root(address, make)?;
    match make {
        true => get_or_map::<Leaf, Leaf>(root),
        // SAFETY: a leaf is never unmapped.
        false => unsafe { root.load(Acquire).as_ref() },
    }
}

fn start_of(leaf: &Leaf, address: u64) -> &Start {
    &leaf.starts[(address / GRANULE) as usize % GRANULES]
}

fn page_of(leaf: &Leaf, address: u64) -> &AtomicU64 {
    &leaf.pages[(address / PAGE) as usize % PAGES]
}

/// Notes a block of `size` bytes at `start` that was just allocated at the call site `site`.
pub fn allocated(start: u64, size: u64, site: u64) {
    if start == 0 || !start.is_multiple_of(GRANULE) {
        return;
    }
    let Some(leaf) = leaf(start, true) else { return };
    let entry = start_of(leaf, start);
    let serial = (entry.size.load(Relaxed) >> 48).wrapping_add(1) & 0xffff;
    entry.size.store(serial << 48 | size & LOW, Relaxed);
    entry.site.store(site & LOW, Relaxed);
    reach(start, 0, size);
}

/// Takes back that a block was freed, after a call of `realloc` that left it in place. `size` is
/// its new size, if that changed.
pub fn kept(start: u64, size: Option<u64>) {
    if let Some(leaf) = leaf(start, false)
        && start.is_multiple_of(GRANULE)
    {
        let entry = start_of(leaf, start);
        entry.site.store(entry.site.load(Relaxed) & !FREED, Relaxed);
        let before = entry.size.load(Relaxed);
        if let Some(size) = size {
            entry.size.store(before & !LOW | size & LOW, Relaxed);
            reach(start, before & LOW, size);
        }
    }
}

/// Notes a block in the words of the pages that it reaches. Pages within its first `from` bytes are
/// left out because the block is noted there already.
fn reach(start: u64, from: u64, size: u64) {
    let end = start.saturating_add(size.min(LARGEST));
    let mut page = (start + from.min(LARGEST)).next_multiple_of(PAGE);
    if page == start {
        page += PAGE;
    }
    while page < end {
        let Some(leaf) = leaf(page, true) else { return };
        page_of(leaf, page).store(start, Relaxed);
        page += PAGE;
    }
}

/// Notes that a block is about to be freed.
pub fn freed(start: u64) {
    if let Some(leaf) = leaf(start, false)
        && start.is_multiple_of(GRANULE)
    {
        let entry = start_of(leaf, start);
        let site = entry.site.load(Relaxed);
        if site != 0 {
            entry.site.store(site | FREED, Relaxed);
        }
    }
}

/// The block that covers an address: a live one if there is one, otherwise the freed one with the
/// nearest start; `None` if no known block covers it.
pub fn find(address: u64) -> Option<ObjectRecord> {
    let leaf = leaf(address, false)?;
    let reaching = reaching(leaf, address);
    if let Some((block, true)) = reaching {
        return Some(block);
    }
    let mut freed = None;
    let mut at = address & !(GRANULE - 1);
    let first = address & !(PAGE - 1);
    loop {
        match covering(leaf, at, address) {
            Some((block, true)) => return Some(block),
            Some((block, false)) => freed = freed.or(Some(block)),
            None => {}
        }
        if at == first {
            break;
        }
        at -= GRANULE;
    }
    freed.or(reaching.map(|(block, _)| block))
}

/// The block in the word of an address's page, if that block covers the address, and whether it is
/// live.
fn reaching(leaf: &Leaf, address: u64) -> Option<(ObjectRecord, bool)> {
    let start = page_of(leaf, address).load(Relaxed);
    let leaf = (start != 0).then(|| self::leaf(start, false))??;
    covering(leaf, start, address)
}

/// The block that starts at `start`, if it covers `address`, and whether it is live.
fn covering(leaf: &Leaf, start: u64, address: u64) -> Option<(ObjectRecord, bool)> {
    let entry = start_of(leaf, start);
    let site = entry.site.load(Relaxed);
    if site == 0 {
        return None;
    }
    let word = entry.size.load(Relaxed);
    let (size, serial) = (word & LOW, word >> 48);
    // A block of no bytes covers no address, not even its own.
    (address - start < size)
        .then_some((ObjectRecord { start, size, site: site & LOW, serial }, site & FREED == 0))
}
