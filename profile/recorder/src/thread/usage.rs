//! A thread's use of a processor, to distinguish a holder that computes from one that sleeps or was
//! preempted.
//!
//! Two system calls, some 200 ns; both leave `errno` alone. `getrusage` counts how often a thread
//! went off its processor, but its times are only as fine as the scheduler's tick; the thread's
//! clock is exact.

use core::ffi::CStr;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::time::ClockId;
use syncline_recording::schedstat::{self, Times};

use crate::clock;

/// What a thread has used until a moment, or between two moments.
#[derive(Clone, Copy)]
pub struct Usage {
    /// The moment, or the length of the interval, in ticks.
    pub at: u64,
    /// Processor time in nanoseconds.
    pub cpu: u64,
    /// How often the thread gave its processor up.
    pub slept: u64,
    /// How often the holder was preempted.
    pub preempted: u64,
}

impl Usage {
    /// The calling thread's use, at the begin of an interval. The moment is taken last, and first
    /// in [`Usage::until`], so that a thread which stays on its processor has used no less than the
    /// time in between.
    pub fn from_here() -> Usage {
        let (slept, preempted) = switches();
        let cpu = clock::nanoseconds(ClockId::ThreadCPUTime);
        Usage { at: clock::now(), cpu, slept, preempted }
    }

    /// The calling thread's use at the interval's end, which was at this moment.
    pub fn until(at: u64) -> Usage {
        let cpu = clock::nanoseconds(ClockId::ThreadCPUTime);
        let (slept, preempted) = switches();
        Usage { at, cpu, slept, preempted }
    }

    /// The use since then.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            at: self.at.saturating_sub(before.at),
            cpu: self.cpu.saturating_sub(before.cpu),
            slept: self.slept.saturating_sub(before.slept),
            preempted: self.preempted.saturating_sub(before.preempted),
        }
    }

    /// The part of this time, in ticks, that was not spent on a processor.
    pub fn off_cpu(self) -> u64 {
        self.at.saturating_sub(clock::to_ticks(self.cpu))
    }
}

/// How often the calling thread gave its processor up, and how often it was preempted.
fn switches() -> (u64, u64) {
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes to the structure that it is given, and nowhere else; all zero,
    // should it refuse, is a valid one.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_getrusage => _,
            in("rdi") libc::RUSAGE_THREAD,
            in("rsi") usage.as_mut_ptr(),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
        let usage = usage.assume_init();
        (usage.ru_nvcsw as u64, usage.ru_nivcsw as u64)
    }
}

/// How long the calling thread was on a processor since its start, and how long it was ready
/// without a processor: 0 if that can't be read. A thread in a sandbox may not be able to open a
/// file.
///
/// `started` is when it began to be recorded, in ticks, and `cpu_before` what it had used by then. If
/// it was on a processor all the time since, like nearly all threads that live for a moment, no file is
/// opened: that would take a tenth of their time.
pub fn at_end(started: u64, cpu_before: u64) -> Times {
    let times = Times { cpu_ns: clock::nanoseconds(ClockId::ThreadCPUTime), ready_ns: 0 };
    let lived = clock::to_nanoseconds(clock::now().saturating_sub(started));
    let off_cpu = lived.saturating_sub(times.cpu_ns.saturating_sub(cpu_before));
    if off_cpu <= (lived / 128).max(LITTLE) {
        return times;
    }
    Times { ready_ns: of_this_thread().map_or(0, |times| times.ready_ns), ..times }
}

/// Up to this many nanoseconds without a processor, the kernel is not asked.
const LITTLE: u64 = 10_000;

/// How long the calling thread was on a processor and ready for one since it began; `None` if that
/// can't be read.
pub fn so_far() -> Option<Times> {
    let times = of_this_thread()?;
    Some(Times { cpu_ns: clock::nanoseconds(ClockId::ThreadCPUTime), ..times })
}

fn of_this_thread() -> Option<Times> {
    if is_sandboxed() { None } else { read(c"/proc/thread-self/schedstat") }
}

/// How long another thread of this process was on a processor, and ready for one, by its number; `None`
/// if that can't be read. The calling thread must not be in a sandbox.
pub fn of_other(tid: u32) -> Option<Times> {
    const FOLDER: &[u8] = b"/proc/self/task/";
    const FILE: &[u8] = b"/schedstat\0";
    const DIGITS: usize = 10;
    let mut digits = [b'0'; DIGITS];
    let mut left = tid;
    for digit in digits.iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
    }
    let first = digits.iter().position(|&digit| digit != b'0')?;
    let mut path = [0; FOLDER.len() + DIGITS + FILE.len()];
    let mut end = 0;
    for part in [FOLDER, &digits[first..], FILE] {
        path[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    read(CStr::from_bytes_with_nul(&path[..end]).ok()?)
}

fn read(path: &CStr) -> Option<Times> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut text = [0; 64];
    let length = rustix::io::read(&file, &mut text).ok()?;
    schedstat::parse(&text[..length])
}

/// Whether the calling thread is in a sandbox (seccomp), or was started in one, such as a container's:
/// a file may not be open to it then, and it may be ended for trying.
pub fn is_sandboxed() -> bool {
    // SAFETY: the call takes no more arguments, and changes nothing.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) != 0 }
}
