//! Where threads sleep: in which system call, and with which stack.
//!
//! `/proc/PID/task/TID/syscall` gives the system call, the stack pointer and the instruction
//! pointer of a thread that does not run. The thread is not stopped, so its stack may change while
//! it is read. Therefore the stack only counts if the file says the same before and after.

use std::fs;
use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// A thread: the numbers of its process and of itself.
pub type Thread = (u32, u32);

/// The size of a page in bytes. A stack is mapped in pages. After the page that the stack pointer
/// is in, `MORE_PAGES` further ones are read.
const PAGE: usize = 4 << 10;
const MORE_PAGES: usize = 2;

/// A thread that sleeps.
pub struct Asleep {
    /// Its system call.
    pub state: State,
    /// The stack, from the stack pointer on.
    pub stack: Vec<u8>,
}

impl Asleep {
    /// The system call in which a thread sleeps, and its stack; `None` if it is in no system call,
    /// woke up meanwhile, has ended, or may not be inspected.
    pub fn of(thread: Thread) -> Option<Asleep> {
        let state = state(thread)?;
        let sp = state.sp;
        let (base, first) = (sp as usize, PAGE - sp as usize % PAGE);
        let mut stack = vec![0; first + MORE_PAGES * PAGE];
        // Each piece is read completely or not at all: the stack may end after the first.
        let page = |n| RemoteIoVec { base: base.wrapping_add(first + n * PAGE), len: PAGE };
        let pieces = [RemoteIoVec { base, len: first }, page(0), page(1)];
        let pid = Pid::from_raw(thread.0 as i32);
        let read = process_vm_readv(pid, &mut [IoSliceMut::new(&mut stack)], &pieces).ok()?;
        stack.truncate(read);
        let asleep = Asleep { state, stack };
        asleep.goes_on(thread).then_some(asleep)
    }

    /// Whether the thread sleeps in the same call, with the same stack pointer.
    pub fn goes_on(&self, thread: Thread) -> bool {
        state(thread) == Some(self.state)
    }
}

/// What `/proc` says of a thread that sleeps in a system call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The number of the system call.
    pub call: u32,
    /// Its arguments. If the thread waits for a futex, the first is the futex's address.
    pub arguments: [u64; 6],
    /// The stack pointer.
    pub sp: u64,
    /// The address of the instruction after the system call's.
    pub ip: u64,
}

/// The state of a thread; `None` if it does not sleep in a system call, or that can't be read.
pub fn state((pid, tid): Thread) -> Option<State> {
    parse(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?)
}

fn parse(line: &str) -> Option<State> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    match words[..] {
        // Outside of a system call, as in a page fault, there are no arguments, and the number is
        // -1.
        [call, a, b, c, d, e, f, sp, ip] => {
            let mut arguments = [0; 6];
            for (argument, word) in arguments.iter_mut().zip([a, b, c, d, e, f]) {
                *argument = hex(word)?;
            }
            Some(State { call: call.parse().ok()?, arguments, sp: hex(sp)?, ip: hex(ip)? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_call_and_two_pointers() {
        let line = "202 0x7fa89377f990 0x109 0x675a 0x0 0x0 0xffffffff 0x7ffe10 0x7fa89f\n";
        let arguments = [0x7fa8_9377_f990, 0x109, 0x675a, 0, 0, 0xffff_ffff];
        let state = State { call: 202, arguments, sp: 0x7ffe10, ip: 0x7fa89f };
        assert_eq!(parse(line), Some(state));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffe10 0x7fa89f\n"), None, "a page fault");
        assert_eq!(parse(""), None);
    }
}
