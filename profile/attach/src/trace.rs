//! The functions of `ptrace` that are used. For each traced thread, all calls must come from the
//! same thread, as the kernel requires.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use libc::user_regs_struct as Registers;

const NT_X86_XSTATE: usize = 0x202;
const SETSIGMASK: libc::c_uint = 0x420b;
/// A thread may take this long to stop. It can't stop while it waits for a device or has no
/// processor. (Even if this time has passed, a thread that was interrupted stops later, and goes on
/// only when it is released or this process ends.)
const LONGEST_STOP: Duration = Duration::from_secs(20);

/// Why a traced thread has stopped, or that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is at the beginning or the end of a system call.
    SystemCall,
    /// It was stopped by [`interrupt`], or a signal such as `SIGSTOP` has stopped the process.
    Asked,
    /// A signal is about to be delivered to it.
    Signal(i32),
    /// It has ended.
    Gone,
}

fn ptrace(request: libc::c_uint, tid: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the callers pass the arguments that the request needs.
    let result = unsafe { libc::ptrace(request, tid, address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Begins to trace a thread, which goes on running. If this process ends, the kernel releases the
/// thread.
pub fn seize(tid: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_SEIZE, tid, 0, libc::PTRACE_O_TRACESYSGOOD as usize)
}

/// Interrupts a traced thread, and waits until it has stopped. Returns the signal that is about to
/// be delivered to the thread, or 0; `None` if the thread has ended.
///
/// # Errors
/// `TimedOut` if the thread has not stopped after 20 seconds. The thread then stops later, and
/// stays stopped until it is released or this process ends.
pub fn stop(tid: i32) -> io::Result<Option<i32>> {
    interrupt(tid)?;
    let stop = wait(tid, Instant::now() + LONGEST_STOP)?;
    Ok(match stop.ok_or(io::ErrorKind::TimedOut)? {
        Stop::Gone => None,
        Stop::Signal(signal) => Some(signal),
        Stop::Asked | Stop::SystemCall => Some(0),
    })
}

/// Interrupts a traced thread. [`wait`] then waits until it has stopped.
pub fn interrupt(tid: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Releases a stopped thread and delivers this signal to it, or none if it is 0.
pub fn detach_with(tid: i32, signal: i32) {
    // If this fails, the thread has ended.
    let _ = ptrace(libc::PTRACE_DETACH, tid, 0, signal as usize);
}

/// Delivers this signal to a stopped thread, or none if it is 0, and lets it run to the next
/// beginning or end of a system call.
pub fn to_system_call(tid: i32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_SYSCALL, tid, 0, signal as usize)
}

/// The registers of a stopped thread.
pub fn registers(tid: i32) -> io::Result<Registers> {
    // SAFETY: the registers are numbers, so all zero is valid.
    let mut registers: Registers = unsafe { std::mem::zeroed() };
    ptrace(libc::PTRACE_GETREGS, tid, 0, (&raw mut registers).addr())?;
    Ok(registers)
}

/// Sets the registers of a stopped thread.
pub fn set_registers(tid: i32, registers: &Registers) -> io::Result<()> {
    ptrace(libc::PTRACE_SETREGS, tid, 0, (&raw const *registers).addr())
}

/// The vector and floating-point registers of a stopped thread, in the kernel's format.
pub fn extended_state(tid: i32) -> io::Result<Vec<u8>> {
    let mut state = vec![0u8; 64 << 10];
    let mut part = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    ptrace(libc::PTRACE_GETREGSET, tid, NT_X86_XSTATE, (&raw mut part).addr())?;
    state.truncate(part.iov_len);
    Ok(state)
}

/// Sets the vector and floating-point registers of a stopped thread.
pub fn set_extended_state(tid: i32, state: &[u8]) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: state.as_ptr().cast_mut().cast(), iov_len: state.len() };
    ptrace(libc::PTRACE_SETREGSET, tid, NT_X86_XSTATE, (&raw mut part).addr())
}

/// Reads a word of a stopped thread's memory. If the word lies below a stack that the kernel makes
/// longer when it is accessed, the stack reaches down to the word from then on.
pub fn touch(tid: i32, at: u64) -> io::Result<()> {
    let mut word = 0u64;
    // The C library's function would return the word itself, and a word of ones would look like an
    // error.
    // SAFETY: the kernel checks the address, and writes one word to `word`.
    let result =
        unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKDATA, tid, at, &raw mut word) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Writes a word of a stopped thread's memory, even if the process may only read it.
pub fn write_word(tid: i32, at: u64, word: u64) -> io::Result<()> {
    ptrace(libc::PTRACE_POKEDATA, tid, at as usize, word as usize)
}

/// The mask of signals that a stopped thread blocks.
pub fn signal_mask(tid: i32) -> io::Result<u64> {
    const GETSIGMASK: libc::c_uint = 0x420a;
    let mut mask = 0u64;
    ptrace(GETSIGMASK, tid, 8, (&raw mut mask).addr())?;
    Ok(mask)
}

/// Sets the mask of signals that a stopped thread blocks.
pub fn set_signal_mask(tid: i32, mask: u64) -> io::Result<()> {
    ptrace(SETSIGMASK, tid, 8, (&raw const mask).addr())
}

/// Waits until a traced thread stops; `None` if it has not stopped by `until`.
pub fn wait(tid: i32, until: Instant) -> io::Result<Option<Stop>> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel only writes the status.
        let found = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
        match found {
            0 if Instant::now() > until => return Ok(None),
            0 => sleep(Duration::from_micros(20)),
            -1 => {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::ECHILD) => return Ok(Some(Stop::Gone)),
                    _ => return Err(error),
                }
            }
            _ if !libc::WIFSTOPPED(status) => return Ok(Some(Stop::Gone)),
            _ => {
                let signal = libc::WSTOPSIG(status);
                return Ok(Some(match status >> 16 {
                    libc::PTRACE_EVENT_STOP => Stop::Asked,
                    _ if signal == libc::SIGTRAP | 0x80 => Stop::SystemCall,
                    _ => Stop::Signal(signal),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn words_of_any_value_can_be_touched() {
        static WORDS: [u64; 3] = [0, 5, u64::MAX];
        // SAFETY: the child only pauses, until it is killed.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                loop {
                    libc::pause();
                }
            }
            seize(child).expect("it is ours");
            interrupt(child).expect("it lives");
            let stop = wait(child, Instant::now() + Duration::from_secs(20)).expect("it waits");
            assert!(stop.is_some(), "it stops");
            for word in &WORDS {
                touch(child, std::ptr::from_ref(word) as u64).expect("it is mapped");
            }
            assert_eq!(touch(child, 8).unwrap_err().raw_os_error(), Some(libc::EIO));
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
}
