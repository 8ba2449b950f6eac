//! Ticks: the time stamp counter if it is invariant, otherwise the monotonic clock.
//!
//! `syncline record` chooses the clock and measures its rate. It passes both on in the environment
//! or, to a process that already runs, in the request to record. So all processes of a recording
//! use one clock.

use core::arch::asm;
use core::arch::x86_64::_rdtsc;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::process::getpid;
use rustix::time::ClockId;

static MONOTONIC: AtomicBool = AtomicBool::new(false);
static TICKS_PER_SECOND: AtomicU64 = AtomicU64::new(1);

/// Sets the clock: the monotonic one or the time stamp counter, and its rate.
pub fn choose(monotonic: bool, ticks_per_second: u64) {
    MONOTONIC.store(monotonic, Ordering::Relaxed);
    TICKS_PER_SECOND.store(ticks_per_second, Ordering::Relaxed);
}

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Converts ticks to nanoseconds. It calculates in 64 bits, which is enough for rates below 18 GHz.
/// A division of 128 bits would call a function in another page of code, which each forked child
/// would have to fault in.
pub fn to_nanoseconds(ticks: u64) -> u64 {
    let rate = TICKS_PER_SECOND.load(Ordering::Relaxed);
    ticks / rate * SECOND + ticks % rate * SECOND / rate
}

/// Converts nanoseconds to ticks.
pub fn to_ticks(nanoseconds: u64) -> u64 {
    let rate = TICKS_PER_SECOND.load(Ordering::Relaxed);
    (u128::from(nanoseconds) * u128::from(rate) / u128::from(SECOND)) as u64
}

/// `n` microseconds in ticks; `n` is below a million.
pub fn microseconds(n: u64) -> u64 {
    n * TICKS_PER_SECOND.load(Ordering::Relaxed) / 1_000_000
}

/// Now, in ticks; never 0.
#[inline]
pub fn now() -> u64 {
    if MONOTONIC.load(Ordering::Relaxed) {
        nanoseconds(ClockId::Monotonic)
    } else {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { _rdtsc() }
    }
}

/// The time of a system clock, in nanoseconds.
///
/// This is a plain system call. A program may have its own `clock_gettime`, and looking for the
/// kernel's in the vDSO would fault under valgrind, which unmaps the vDSO.
pub fn nanoseconds(clock: ClockId) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes only to the structure that it is given. It always has these clocks.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime => _,
            in("rdi") clock as libc::clockid_t,
            in("rsi") &raw mut time,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// When this process image started, and the number of the process then: a forked child has the same
/// memory, but another start.
static PROCESS_START: AtomicU64 = AtomicU64::new(0);
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Remembers when the process started.
pub fn process_starts() {
    PROCESS_START.store(now(), Ordering::Relaxed);
    PROCESS.store(process(), Ordering::Relaxed);
}

/// When the process started; in a forked child, whose start was not seen, the current time.
pub fn process_started() -> u64 {
    let seen = PROCESS.load(Ordering::Relaxed) == process();
    if seen { PROCESS_START.load(Ordering::Relaxed) } else { now() }
}

/// The process's number.
pub fn process() -> u32 {
    getpid().as_raw_nonzero().get() as u32
}
