//! Keeps the virtual processors together, by the instructions that they have executed.
//!
//! Under emulation each processor is a thread of the host, so it may find a lock held only because
//! the host has preempted the holder. So a processor that is more than a quantum ahead of the
//! slowest busy one waits. The processor waits about a millisecond at most: QEMU sometimes needs
//! all processors to stop, and the slowest may be waiting for that.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The most virtual processors that are kept together.
pub const MOST: usize = 64;
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 20;

struct One {
    executed: AtomicU64,
    /// Whether the processor executes. A call of [`advance`] sets this, and it stays set until the
    /// processor becomes idle.
    busy: AtomicBool,
}

static ALL: [One; MOST] =
    [const { One { executed: AtomicU64::new(0), busy: AtomicBool::new(false) } }; MOST];
static QUANTUM: AtomicU64 = AtomicU64::new(0);
static WAITS: AtomicU64 = AtomicU64::new(0);
static GIVEN_UP: AtomicU64 = AtomicU64::new(0);

/// Sets how many instructions a processor may be ahead before it waits; 0 for no limit.
pub fn set_quantum(instructions: u64) {
    QUANTUM.store(instructions, Ordering::Relaxed);
}

/// How often a processor waited, and how often it gave up waiting.
pub fn waits() -> (u64, u64) {
    (WAITS.load(Ordering::Relaxed), GIVEN_UP.load(Ordering::Relaxed))
}

/// Called when a processor has executed `executed` instructions in all. Returns the number of
/// instructions at which it must call this again.
pub fn advance(processor: usize, executed: u64) -> u64 {
    let quantum = QUANTUM.load(Ordering::Relaxed);
    let own = &ALL[processor];
    own.executed.store(executed, Ordering::Relaxed);
    own.busy.store(true, Ordering::Relaxed);
    if quantum == 0 {
        return executed + 1_000_000;
    }
    for nap in 0.. {
        let others = ALL.iter().enumerate();
        let busy = others.filter(|(n, one)| *n != processor && one.busy.load(Ordering::Relaxed));
        let slowest = busy.map(|(_, one)| one.executed.load(Ordering::Relaxed)).min();
        if slowest.is_none_or(|slowest| executed <= slowest + quantum) {
            break;
        }
        if nap == 0 {
            WAITS.fetch_add(1, Ordering::Relaxed);
        }
        if nap == NAPS {
            GIVEN_UP.fetch_add(1, Ordering::Relaxed);
            break;
        }
        std::thread::sleep(NAP);
    }
    executed + (quantum / 4).max(1)
}

/// Called when a processor becomes idle.
pub fn idle(processor: usize) {
    ALL[processor].busy.store(false, Ordering::Relaxed);
}

/// Called when a processor resumes. Returns the greatest number of instructions that another busy
/// processor has executed; `None` if no other is busy.
pub fn resume(processor: usize) -> Option<u64> {
    let others = ALL.iter().enumerate();
    let busy = others.filter(|(n, one)| *n != processor && one.busy.load(Ordering::Relaxed));
    busy.map(|(_, one)| one.executed.load(Ordering::Relaxed)).max()
}
