//! Finds a thread that may be borrowed. It must wait in a system call, and must not be inside the
//! allocator or the loader, because the functions that will be called on it need these.

use std::fs::{read_dir, read_to_string};
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::borrow::Borrowed;
use crate::memory::words;
use crate::refusal::Error;
use crate::target::Target;

/// The system calls that wait for an event from outside. Usually no other threads depend on a
/// thread that waits in one of them.
const IDLE: &[u32] =
    &[0, 7, 23, 34, 35, 43, 45, 47, 61, 128, 130, 208, 219, 230, 232, 247, 270, 271, 281, 288, 441];
/// Those of [`IDLE`] that only wait for sockets and similar: poll, select, accept, recvfrom,
/// recvmsg, epoll.
const SOCKETS: &[u32] = &[7, 23, 43, 45, 47, 232, 270, 271, 281, 288, 441];
const FUTEX: u32 = 202;
/// How many bytes of a thread's stack are searched.
const DEPTH: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

/// Borrows the first thread that is found to be safe to borrow.
pub fn borrow(target: &Target) -> Result<Borrowed<'_>, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        let threads = threads(target.pid);
        if threads.is_empty() {
            return Err(Error::Gone(target.pid));
        }
        if !target.runs_same_program() {
            return Err(Error::Executed(target.pid));
        }
        let waits = |kinds: &[u32]| -> Vec<i32> {
            let is_one = |&(_, call): &(i32, u32)| kinds.contains(&call);
            threads.iter().filter(|t| is_one(t)).map(|t| t.0).collect()
        };
        for tid in waits(IDLE).into_iter().chain(waits(&[FUTEX])) {
            if let Some(borrowed) = Borrowed::take(target, tid, |call, sp| {
                target.runs_same_program() && is_safe(target, call, sp)
            })? {
                return Ok(borrowed);
            }
        }
        if Instant::now() > until {
            return Err(Error::NoThread(target.pid));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// All threads of a process, each with the number of the system call in which it waits, or
/// `u32::MAX` if it is in none.
fn threads(pid: u32) -> Vec<(i32, u32)> {
    let Ok(entries) = read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).filter_map(|e| e.file_name().into_string().ok());
    names
        .filter_map(|name| {
            let text = read_to_string(format!("/proc/{pid}/task/{name}/syscall")).ok()?;
            let call = text.split(' ').next()?.trim().parse().unwrap_or(u32::MAX);
            Some((name.parse().ok()?, call))
        })
        .collect()
}

/// Whether a thread that waits in a system call may be borrowed: no return address on its stack
/// leads into code that a thread must not enter again before it has left it.
///
/// Words that earlier calls have left on the stack may look like return addresses. In a forked
/// process whose first function has large variables, those of `fork` may even stay for ever. But no
/// allocator waits for sockets, and neither does `fork` while it holds the allocator's locks
/// (handlers of `pthread_atfork` run without them). So a thread that waits for sockets can be
/// inside one of these functions only if it is in a signal handler, and then the handler's return
/// address is on the stack. Such a thread may be inside the loader, however, since a constructor of
/// a library may wait for anything.
fn is_safe(target: &Target, call: u32, sp: u64) -> bool {
    let stack = target.memory.read_up_to(sp, DEPTH);
    let leads_into = |ranges: &[Range<u64>]| {
        words(&stack).any(|word| {
            ranges.iter().any(|range| range.contains(&word)) && is_behind_call(target, word)
        })
    };
    // A signal handler's return address is followed by a context that begins with its flags (of
    // three bits) and a link of 0.
    let is_frame = |at: &[u64]| at[0] == target.sigreturn && at[1] <= 7 && at[2] == 0;
    let in_handler = || words(&stack).collect::<Vec<_>>().windows(3).any(is_frame);
    let may_allocate = || !SOCKETS.contains(&call) || in_handler();
    !(leads_into(&target.loader) || may_allocate() && leads_into(&target.allocator))
}

/// Whether the instruction before an address is probably a call.
fn is_behind_call(target: &Target, address: u64) -> bool {
    let Ok(code) = target.memory.read(address - 7, 7) else { return false };
    let indirect = |at: usize| code[at] == 0xff && code[at + 1] & 0x38 == 0x10;
    code[2] == 0xe8 || [0, 1, 3, 4, 5].into_iter().any(indirect)
}
