//! The delay: processor time, measured by the time-stamp counter.
//!
//! If a thread loses its processor meanwhile, or a virtual processor its physical one, the counter
//! jumps. Jumps are not counted, so the delay is the time that the thread spins, not the elapsed
//! time. Elapsed time is summed up as well: on a machine with other work it is longer, as it is for
//! all other work of the thread.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::counts;
use crate::options::{self, Kind};
use crate::sites::Site;

/// Two readings that are at least this many ticks (5 to 10 µs) apart are a jump.
const JUMP: u64 = 20_000;

/// The call site and kind that are delayed, encoded by [`key`]; 0 for none.
static DELAYED: AtomicU64 = AtomicU64::new(0);
/// The ticks that a delay spins, without its overhead.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Encodes a call site, whose number begins at 1, and a kind.
fn key(site: u64, kind: u64) -> u64 {
    site << 8 | kind
}

/// Reads the requested delay from the environment.
pub fn start() {
    let Some((site, kind, ticks)) = options::delay() else { return };
    if site != 0 && ticks != 0 {
        // All accesses are Relaxed: a thread may begin to be delayed a moment later.
        TICKS.store(ticks.saturating_sub(overhead()).max(1), Relaxed);
        DELAYED.store(key(site, kind), Relaxed);
    }
}

/// Delays the calling thread if this call site and kind are delayed.
#[inline(always)]
pub fn at(site: Site, kind: Kind) {
    if DELAYED.load(Relaxed) == key(site.number(), kind as u64) {
        counts::passed(spend(TICKS.load(Relaxed)));
    }
}

/// Spins for this many ticks, and [`overhead`] more. Returns the ticks that have elapsed.
#[inline(never)]
fn spend(ticks: u64) -> u64 {
    let mut left = ticks;
    let first = now();
    let mut last = first;
    loop {
        let read = now();
        let step = read.wrapping_sub(last);
        last = read;
        if step < JUMP {
            match left.checked_sub(step) {
                None | Some(0) => return last.wrapping_sub(first),
                Some(less) => left = less,
            }
        }
    }
}

/// The ticks that a delay takes beyond those that it spins: the least of several measurements,
/// since interruptions lengthen some.
fn overhead() -> u64 {
    const TRIES: usize = 64;
    const TICKS: u64 = 500;
    let one = || {
        let before = now();
        let empty = now().wrapping_sub(before);
        let before = now();
        spend(TICKS);
        now().wrapping_sub(before).saturating_sub(TICKS + empty)
    };
    (0..TRIES).map(|_| one()).min().unwrap_or(0)
}

fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it only reads.
    unsafe { _rdtsc() }
}
