//! Measures a thread's use of processors, to distinguish a holder that computes from one that
//! sleeps or was preempted.
//!
//! This takes two system calls, some 200 ns in all; both leave `errno` alone. `getrusage` counts
//! how often a thread lost its processor, but its times are only as precise as the scheduler's
//! tick. The thread's clock is exact.

use core::ffi::CStr;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::time::ClockId;
use syncline_recording::schedstat::{self, Times};

use crate::clock;

/// What a thread has used up to a moment, or between two moments.
#[derive(Clone, Copy)]
pub struct Usage {
    /// The moment, or the length of the interval, in ticks.
    pub at: u64,
    /// Processor time in nanoseconds.
    pub cpu: u64,
    /// How often the thread gave its processor up.
    pub slept: u64,
    /// How often the thread was preempted.
    pub preempted: u64,
}

impl Usage {
    /// The calling thread's use at the beginning of an interval. At the beginning, the clock for
    /// `at` is read last; at the end ([`Usage::until`]), it is read first. So a thread that stays
    /// on its processor has used at least the time in between.
    pub fn from_here() -> Usage {
        let (slept, preempted) = switches();
        let cpu = clock::nanoseconds(ClockId::ThreadCPUTime);
        Usage { at: clock::now(), cpu, slept, preempted }
    }

    /// The calling thread's use at the end of an interval; `at` is the moment of that end.
    pub fn until(at: u64) -> Usage {
        let cpu = clock::nanoseconds(ClockId::ThreadCPUTime);
        let (slept, preempted) = switches();
        Usage { at, cpu, slept, preempted }
    }

    /// The use since `before`.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            at: self.at.saturating_sub(before.at),
            cpu: self.cpu.saturating_sub(before.cpu),
            slept: self.slept.saturating_sub(before.slept),
            preempted: self.preempted.saturating_sub(before.preempted),
        }
    }

    /// The part of this interval, in ticks, in which the thread was not on a processor.
    pub fn off_cpu(self) -> u64 {
        self.at.saturating_sub(clock::to_ticks(self.cpu))
    }
}

/// How often the calling thread gave its processor up, and how often it was preempted.
fn switches() -> (u64, u64) {
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes only to the structure that it is given. If it refuses, the
    // structure is all zero, which is valid.
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
/// without a processor. The latter is 0 if it can't be read: a thread in a sandbox may not be able
/// to open a file.
///
/// `started` is when its recording began, in ticks, and `cpu_before` the processor time that it had
/// used by then. If it was on a processor nearly all the time since, like most threads that live
/// for a moment, no file is opened: that would take a tenth of their time.
pub fn at_end(started: u64, cpu_before: u64) -> Times {
    let times = Times { cpu_ns: clock::nanoseconds(ClockId::ThreadCPUTime), ready_ns: 0 };
    let lived = clock::to_nanoseconds(clock::now().saturating_sub(started));
    let off_cpu = lived.saturating_sub(times.cpu_ns.saturating_sub(cpu_before));
    if off_cpu <= (lived / 128).max(LITTLE) {
        return times;
    }
    Times { ready_ns: of_this_thread().map_or(0, |times| times.ready_ns), ..times }
}

/// Nanoseconds. A thread that was without a processor for no longer than this, or than a 128th of
/// its life, is not looked up in the kernel's statistics.
const LITTLE: u64 = 10_000;

/// How long the calling thread was on a processor, and ready for one, since its start; `None` if
/// that can't be read.
pub fn so_far() -> Option<Times> {
    let times = of_this_thread()?;
    Some(Times { cpu_ns: clock::nanoseconds(ClockId::ThreadCPUTime), ..times })
}

fn of_this_thread() -> Option<Times> {
    if is_sandboxed() { None } else { read(c"/proc/thread-self/schedstat") }
}

/// How long another thread of this process was on a processor, and ready for one; `None` if that
/// can't be read. `tid` is the thread's number. The calling thread must not be in a sandbox.
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

/// Whether the calling thread is in a sandbox (seccomp), its own or one such as a container's that
/// it was started in. It may be forbidden to open a file then, and may even be killed for trying.
pub fn is_sandboxed() -> bool {
    // SAFETY: the call takes no more arguments, and changes nothing.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) != 0 }
}
