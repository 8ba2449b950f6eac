//! Checks that the sandbox of a process (its seccomp filters) allows the system calls that are
//! needed.
//!
//! A filter is a small program that decides what happens at a system call, by its number and its
//! arguments (`man 2 seccomp`). Root may read the filters of a stopped thread
//! (`PTRACE_SECCOMP_GET_FILTER`). Here they are executed for the calls that attaching and recording
//! make. If a filter would make such a call fail, that is handled. If it would end the process, or
//! pass the call to a supervisor, the process is refused.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::io;

use crate::refusal::{Error, Refusal};
use crate::stopped::Stopped;
use crate::target::Target;
use crate::trace;

/// The system calls that are made in the process: name, number and arguments. (Filters look at some
/// arguments, such as the protection of memory.)
const NEEDED: &[(&str, u32, [u64; 4])] = &[
    ("socketpair", 53, [1, 2 | 0o2_000_000, 0, 0]),
    ("recvmsg", 47, [3, 0, 0, 0]),
    ("close", 3, [3, 0, 0, 0]),
    ("mmap", 9, [0, 1 << 20, 3, 0x22]),
    ("mmap", 9, [0, 1 << 20, 5, 0x2]),
    ("mmap", 9, [0, 1 << 20, 3, 0x1]),
    ("mprotect", 10, [0, 4096, 5, 0]),
    ("mprotect", 10, [0, 4096, 3, 0]),
    ("mprotect", 10, [0, 4096, 1, 0]),
    ("munmap", 11, [0, 1 << 20, 0, 0]),
    ("madvise", 28, [0, 1 << 20, 4, 0]),
    ("rt_sigprocmask", 14, [2, 0, 0, 8]),
    ("rt_sigreturn", 15, [0; 4]),
    ("openat", 257, [u64::MAX - 99, 0, 0o2_000_000, 0]),
    ("read", 0, [3, 0, 64, 0]),
    ("pread64", 17, [3, 0, 64, 0]),
    ("newfstatat", 262, [3, 0, 0, 0x1000]),
    ("fstat", 5, [3, 0, 0, 0]),
    ("ftruncate", 77, [3, 1 << 30, 0, 0]),
    ("fallocate", 285, [3, 0, 0, 4096]),
    ("gettid", 186, [0; 4]),
    ("getpid", 39, [0; 4]),
    ("getppid", 110, [0; 4]),
    ("getrusage", 98, [1, 0, 0, 0]),
    ("clock_gettime", 228, [3, 0, 0, 0]),
    ("futex", 202, [0, 0x81, 1, 0]),
    ("prctl", 157, [21, 0, 0, 0]),
];
const X86_64: u32 = 0xc000_003e;
const GET_FILTER: libc::c_uint = 0x420c;
const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;
const ERRNO: u32 = 0x0005_0000;

/// One instruction of a filter.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Instruction {
    code: u16,
    yes: u8,
    no: u8,
    k: u32,
}

/// Refuses a process that has a filter which forbids a needed system call or can't be read.
pub fn check(target: &Target) -> Result<(), Error> {
    let pid = target.pid;
    for tid in filtered(pid) {
        let filters = match read(target, tid) {
            Ok(filters) => filters,
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => continue,
            Err(_) => return Err(Refusal::UnknownFilter(pid).into()),
        };
        let forbidden = |&&(_, number, arguments): &&(&str, u32, [u64; 4])| {
            let decide = |filter: &Vec<Instruction>| decide(filter, number, arguments);
            filters.iter().any(|filter| !matches!(decide(filter), ALLOW | LOG | ERRNO))
        };
        if let Some((what, ..)) = NEEDED.iter().find(forbidden) {
            return Err(Refusal::Filter { pid, what }.into());
        }
    }
    Ok(())
}

/// Threads with filters: one for each number of filters that any thread has. Threads with the same
/// number of filters mostly have the same ones, since filters are only added, and mostly to all
/// threads.
fn filtered(pid: u32) -> Vec<i32> {
    let mut found = BTreeMap::new();
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let status = read_to_string(entry.path().join("status")).unwrap_or_default();
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.map(|value| value.trim_start_matches(':').trim().to_owned())
        };
        let tid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some("2"), Some(tid)) = (field("Seccomp").as_deref(), tid) {
            found.insert(field("Seccomp_filters"), tid);
        }
    }
    found.into_values().collect()
}

/// Stops a thread and reads its filters.
fn read(target: &Target, tid: i32) -> io::Result<Vec<Vec<Instruction>>> {
    trace::seize(tid)?;
    match Stopped::new(target, tid)? {
        Some(_stopped) => filters_of(tid),
        None => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// The filters of a stopped thread.
fn filters_of(tid: i32) -> io::Result<Vec<Vec<Instruction>>> {
    let mut filters = Vec::new();
    for index in 0.. {
        // SAFETY: without a buffer, the kernel only returns the length.
        let length = unsafe { libc::ptrace(GET_FILTER, tid, index, 0) };
        if length < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOENT) => Ok(filters),
                _ => Err(error),
            };
        }
        let mut filter = vec![Instruction::default(); length as usize];
        // SAFETY: the buffer has room for as many instructions as the kernel has.
        if unsafe { libc::ptrace(GET_FILTER, tid, index, filter.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        filters.push(filter);
    }
    Ok(filters)
}

/// What a filter decides for a system call. If the filter has an unknown instruction, the result is
/// 0, which means that the thread is ended.
fn decide(filter: &[Instruction], number: u32, arguments: [u64; 4]) -> u32 {
    let word = |at: u32| match at {
        0 => number,
        4 => X86_64,
        16..48 => (arguments[(at as usize - 16) / 8] >> (at % 8 * 8)) as u32,
        _ => 0,
    };
    let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; 16]);
    let mut at = 0usize;
    // A filter never jumps backwards, so this loop ends.
    while let Some(&Instruction { code, yes, no, k }) = filter.get(at) {
        at += 1;
        let place = k as usize % memory.len();
        let operand = if code & 8 == 0 { k } else { x };
        let mut jump = |holds: bool| at += usize::from(if holds { yes } else { no });
        match code {
            0x20 => a = word(k),
            0x00 => a = k,
            0x60 => a = memory[place],
            0x80 => a = 64,
            0x01 => x = k,
            0x61 => x = memory[place],
            0x81 => x = 64,
            0x02 => memory[place] = a,
            0x03 => memory[place] = x,
            0x07 => x = a,
            0x87 => a = x,
            0x04 | 0x0c => a = a.wrapping_add(operand),
            0x14 | 0x1c => a = a.wrapping_sub(operand),
            0x24 | 0x2c => a = a.wrapping_mul(operand),
            0x34 | 0x3c => a = a.checked_div(operand).unwrap_or(0),
            0x44 | 0x4c => a |= operand,
            0x54 | 0x5c => a &= operand,
            0x64 | 0x6c => a = a.checked_shl(operand).unwrap_or(0),
            0x74 | 0x7c => a = a.checked_shr(operand).unwrap_or(0),
            0x84 => a = a.wrapping_neg(),
            0xa4 | 0xac => a ^= operand,
            0x05 => at += k as usize,
            0x15 | 0x1d => jump(a == operand),
            0x25 | 0x2d => jump(a > operand),
            0x35 | 0x3d => jump(a >= operand),
            0x45 | 0x4d => jump(a & operand != 0),
            0x06 => return k & 0xffff_0000,
            0x16 => return a & 0xffff_0000,
            _ => return 0,
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn step(code: u16, yes: u8, no: u8, k: u32) -> Instruction {
        Instruction { code, yes, no, k }
    }

    #[test]
    fn a_filter_is_run_on_numbers_and_arguments() {
        // This filter kills the process for an mprotect with the right to execute, lets socketpair
        // fail, and allows all other calls.
        let filter = [
            step(0x20, 0, 0, 0),
            step(0x15, 0, 3, 10),
            step(0x20, 0, 0, 32),
            step(0x45, 0, 1, 4),
            step(0x06, 0, 0, 0x8000_0000),
            step(0x15, 0, 1, 53),
            step(0x06, 0, 0, 0x0005_0001),
            step(0x06, 0, 0, ALLOW),
        ];
        assert_eq!(decide(&filter, 10, [0, 4096, 5, 0]), 0x8000_0000);
        assert_eq!(decide(&filter, 10, [0, 4096, 3, 0]), ALLOW);
        assert_eq!(decide(&filter, 53, [1, 2, 0, 0]), ERRNO);
        assert_eq!(decide(&filter, 39, [0; 4]), ALLOW);
        assert_eq!(decide(&filter[..3], 10, [0; 4]), 0, "it has no end");
    }

    #[test]
    fn arguments_are_read_by_halves() {
        let high = [step(0x20, 0, 0, 20), step(0x16, 0, 0, 0)];
        assert_eq!(decide(&high, 1, [0xabcd_0000_1111_2222, 0, 0, 0]), 0xabcd_0000);
        let low = [step(0x20, 0, 0, 24), step(0x16, 0, 0, 0)];
        assert_eq!(decide(&low, 1, [0, 0x1_7fff_0000, 0, 0]), 0x7fff_0000);
    }
}
