//! The program in memory: where its variables lie, and the addresses of the global memory, which
//! begins with them.
//!
//! ```text
//!   | read-only parts | variables | early blocks | ... the rest of the global memory ... |
//!                     start       blocks         early_end                              end
//! ```
//!
//! Until `main`, the variables are the process's own, and so are the *early blocks*, which the
//! program's constructors allocate. Then they become global, with the content that they have on
//! rank 0.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use syncline_interpose::{Object, for_each_loaded, variable};

use crate::fail::cannot;

const PAGE: usize = 4096;
const PT_LOAD: u32 = 1;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const WRITABLE: u32 = 2;
/// The most bytes of early blocks.
const EARLY: usize = 16 << 20;

static CONSTRUCTS: AtomicBool = AtomicBool::new(false);

static START: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static EARLY_END: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// The addresses of the loader, and of the C library.
static LOADER: Addresses = Addresses::new();
static LIBC: Addresses = Addresses::new();
/// The address at which the program is loaded: what its file calls address 0.
static LOADED: AtomicUsize = AtomicUsize::new(0);
/// Where the next early block begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Reserves the addresses, unless they are reserved already. Allocates nothing.
#[inline]
pub fn ensure() {
    if START.load(Relaxed) == 0 && is_rank() {
        reserve(bytes());
    }
}

/// From which address to which one an object lies.
struct Addresses(AtomicUsize, AtomicUsize);

impl Addresses {
    const fn new() -> Addresses {
        Addresses(AtomicUsize::new(0), AtomicUsize::new(0))
    }

    fn set(&self, object: &Object) {
        // Relaxed, here and below: set before the program has a second thread.
        self.0.store(object.start as usize, Relaxed);
        self.1.store(object.end as usize, Relaxed);
    }

    fn have(&self, address: usize) -> bool {
        address >= self.0.load(Relaxed) && address < self.1.load(Relaxed)
    }
}

/// Finds the program's variables and reserves the addresses after them, so that nothing else is
/// mapped there: the kernel would let the process's heap (`brk`) grow into them. Allocates nothing.
fn reserve(bytes: usize) {
    // Lines have up to 64 pages.
    let bytes = bytes.next_multiple_of(64 * PAGE);
    let mut program = None;
    for_each_loaded(|object| {
        // SAFETY: a query.
        if object.start == unsafe { libc::getauxval(libc::AT_BASE) } {
            LOADER.set(&object);
        }
        if object.path().ends_with(b"/libc.so.6") {
            LIBC.set(&object);
        }
        if program.is_none() && object.path().is_empty() && !is_kernels(&object) {
            program = Some(object);
        }
    });
    let Some((start, end)) = program.as_ref().and_then(variables) else {
        cannot("the program has no variables that can be found")
    };
    let early = EARLY.min(bytes / 8);
    if end - start + early > bytes {
        cannot("its variables need more memory than there is; `--memory` sets the size");
    }
    map(end, early, libc::PROT_READ | libc::PROT_WRITE);
    map(end + early, bytes - (end - start) - early, libc::PROT_NONE);
    // Relaxed: one thread runs this far.
    for (word, value) in [(&BLOCKS, end), (&NEXT, end), (&EARLY_END, end + early)] {
        word.store(value, Relaxed);
    }
    LOADED.store(program.map_or(0, |program| program.bias as usize), Relaxed);
    END.store(start + bytes, Relaxed);
    START.store(start, Relaxed);
}

/// Whether an object is the kernel's own, which has no name either.
fn is_kernels(object: &Object) -> bool {
    // SAFETY: a query.
    object.start == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) }
}

/// The pages of the program that stay writable.
fn variables(program: &Object) -> Option<(usize, usize)> {
    let at = |address: u64| (program.bias + address) as usize;
    // The loader makes whole pages read-only.
    let read_only = program.headers(PT_GNU_RELRO).next().map_or(0..0, |header| {
        let (start, end) = (at(header.p_vaddr), at(header.p_vaddr + header.p_memsz));
        start / PAGE * PAGE..end / PAGE * PAGE
    });
    let writable = program.headers(PT_LOAD).filter(|header| header.p_flags & WRITABLE != 0);
    let parts = writable.filter_map(|header| {
        let (start, end) = (at(header.p_vaddr), at(header.p_vaddr + header.p_memsz));
        let start = start / PAGE * PAGE;
        let start = if read_only.contains(&start) { read_only.end } else { start };
        let end = end.next_multiple_of(PAGE);
        (start < end).then_some((start, end))
    });
    parts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn map(at: usize, bytes: usize, access: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let flags = flags | libc::MAP_FIXED_NOREPLACE;
    let arguments = [at, bytes, access as usize, flags as usize, usize::MAX, 0];
    // SAFETY: maps addresses at which nothing is mapped, or fails.
    if unsafe { crate::system::direct(libc::SYS_mmap, arguments) } as usize != at {
        cannot("the addresses after its variables are in use");
    }
}

/// Whether the program's constructors run. What they allocate becomes global at `main`.
#[inline]
pub fn constructs() -> bool {
    // Relaxed: set and read by the only thread.
    CONSTRUCTS.load(Relaxed)
}

/// Whether this process is a rank of a program that is run unmodified.
pub fn is_rank() -> bool {
    variable(c"SYNCLINE_FABRIC").is_some()
}

/// Says whether the program's constructors run.
pub fn set_constructs(now: bool) {
    CONSTRUCTS.store(now, Relaxed);
}

/// The bytes of the global memory, as the environment says.
pub fn bytes() -> usize {
    let value = variable(c"SYNCLINE_DSM_MEMORY").and_then(|value| value.to_str().ok());
    value.and_then(|value| value.parse().ok()).unwrap_or(256 << 20)
}

/// Whether an address is one of the global memory.
#[inline]
pub fn is_global(address: usize) -> bool {
    // Relaxed: set before the program has a second thread.
    address >= START.load(Relaxed) && address < END.load(Relaxed)
}

/// Whether an address is in the loader's code.
pub fn is_loader(address: usize) -> bool {
    LOADER.have(address)
}

/// Whether an address is in the C library's code.
pub fn is_libc(address: usize) -> bool {
    LIBC.have(address)
}

/// Whether an address is that of an early block.
pub fn is_early(address: usize) -> bool {
    address >= BLOCKS.load(Relaxed) && address < EARLY_END.load(Relaxed)
}

/// Allocates an early block, at a multiple of 16; 0 if there is no room. Early blocks are never
/// freed.
pub fn early(bytes: usize) -> usize {
    // Relaxed: one thread runs the constructors.
    let at = NEXT.load(Relaxed).next_multiple_of(16);
    if bytes > EARLY_END.load(Relaxed) - at {
        return 0;
    }
    NEXT.store(at + bytes, Relaxed);
    at
}

/// The address at which the program is loaded.
pub fn loaded() -> usize {
    LOADED.load(Relaxed)
}

/// The end of the addresses for early blocks.
pub fn early_end() -> usize {
    EARLY_END.load(Relaxed)
}

/// The first address of the global memory, and the end of what the process has there before
/// `main`.
pub fn content() -> std::ops::Range<usize> {
    START.load(Relaxed)..NEXT.load(Relaxed).next_multiple_of(PAGE)
}
