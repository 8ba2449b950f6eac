//! A stopped thread of the process.
//!
//! A stop interrupts the system call in which a thread waits. The kernel repeats most calls by
//! itself when the thread is released. A few, such as `semop` and `epoll_wait`, fail with `EINTR`
//! instead, and many programs take that for an error. So a released thread repeats these calls,
//! unless a signal is pending for it: then the program expects the failure.

use std::fs::read_to_string;
use std::io;
use std::time::Instant;

use crate::target::Target;
use crate::trace;

/// A thread that was asked to stop. When this value is dropped, the thread is released, and the
/// time for which it was stopped is added to the target's sum.
pub struct Stopped<'a> {
    target: &'a Target,
    tid: i32,
    since: Instant,
    /// The signal that is about to be delivered to the thread, or 0.
    signal: i32,
}

impl<'a> Stopped<'a> {
    /// Stops a thread, which must be traced already ([`trace::seize`]); `None` if it has ended.
    ///
    /// # Errors
    /// Same errors as [`trace::stop`].
    pub fn new(target: &'a Target, tid: i32) -> io::Result<Option<Stopped<'a>>> {
        let mut stopped = Stopped { target, tid, since: Instant::now(), signal: 0 };
        Ok(trace::stop(tid)?.map(|signal| {
            stopped.signal = signal;
            stopped
        }))
    }

    /// The thread's number.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Whether a signal is about to be delivered to the thread.
    pub fn has_signal(&self) -> bool {
        self.signal != 0
    }

    /// Lets the thread repeat its system call, if the stop has made the call fail with `EINTR`.
    fn repeat_call(&self) -> io::Result<()> {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let mut registers = trace::registers(self.tid)?;
        let failed = registers.rax as i64 == -i64::from(libc::EINTR);
        let is_call = failed
            && registers.orig_rax as i64 >= 0
            && self.target.memory.read(registers.rip - 2, 2)? == SYSCALL;
        if !is_call || self.signal != 0 || has_pending_signal(self.target.pid, self.tid) {
            return Ok(());
        }
        registers.rip -= 2;
        registers.rax = registers.orig_rax;
        // With this value, the kernel does not take the call for one to repeat as well.
        registers.orig_rax = u64::MAX;
        trace::set_registers(self.tid, &registers)
    }
}

/// Whether a signal waits to be delivered to a thread. If that can't be read, there may be one.
fn has_pending_signal(pid: u32, tid: i32) -> bool {
    let Ok(status) = read_to_string(format!("/proc/{pid}/task/{tid}/status")) else { return true };
    let set = |name: &str| -> Option<u64> {
        let text = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(text.trim(), 16).ok()
    };
    match (set("SigPnd:"), set("ShdPnd:"), set("SigBlk:")) {
        (Some(own), Some(shared), Some(blocked)) => (own | shared) & !blocked != 0,
        _ => true,
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        // If this fails, the thread has ended or did not stop, or its call stays interrupted.
        let _ = self.repeat_call();
        trace::detach_with(self.tid, self.signal);
        self.target.was_stopped(self.since.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::seccomp;

    /// Starts a process that sleeps, and waits until it can be attached to.
    fn sleeper(command: &mut Command) -> (Child, Target) {
        let child = command.arg("60").spawn().expect("it starts");
        loop {
            match Target::find(child.id()) {
                Ok(target) => return (child, target),
                Err(_) => sleep(Duration::from_millis(1)),
            }
        }
    }

    #[test]
    fn the_target_adds_up_all_stops() {
        let (mut child, target) = sleeper(&mut Command::new("sleep"));
        let tid = child.id() as i32;
        for time in 1..=3 {
            trace::seize(tid).expect("it is ours");
            let stopped = Stopped::new(&target, tid).expect("it stops").expect("it lives");
            sleep(Duration::from_millis(5));
            drop(stopped);
            assert!(target.stopped() >= Duration::from_millis(5 * time));
        }
        child.kill().and_then(|()| child.wait()).expect("it is killed");
    }

    /// A stopped thread goes on waiting in a call that the kernel does not repeat.
    #[test]
    fn a_stop_does_not_end_a_wait_for_a_semaphore() {
        // SAFETY: plain system calls; the child makes only such calls, and ends.
        unsafe {
            let semaphores = libc::semget(libc::IPC_PRIVATE, 1, 0o600);
            assert!(semaphores >= 0, "{}", io::Error::last_os_error());
            let change = |by| {
                let mut change = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
                libc::semop(semaphores, &raw mut change, 1)
            };
            let child = libc::fork();
            if child == 0 {
                libc::_exit(if change(-1) == 0 { 0 } else { *libc::__errno_location() });
            }
            let target = Target::find(child as u32).expect("it can be attached to");
            let calls = [libc::SYS_semop, libc::SYS_semtimedop];
            let waits = || {
                let text = read_to_string(format!("/proc/{child}/syscall")).unwrap_or_default();
                calls.iter().any(|call| text.starts_with(&format!("{call} ")))
            };
            for _ in 0..3 {
                let began = Instant::now();
                while !waits() && began.elapsed() < Duration::from_secs(5) {
                    sleep(Duration::from_millis(1));
                }
                trace::seize(child).expect("it is ours");
                drop(Stopped::new(&target, child).expect("it stops"));
            }
            assert_eq!(change(1), 0);
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            libc::semctl(semaphores, 0, libc::IPC_RMID);
            assert_eq!(status, 0, "EINTR is {:x}", libc::EINTR << 8);
        }
    }

    /// The time for which a thread is stopped to read its filters counts as well.
    #[test]
    fn reading_filters_counts_as_stopped_time() {
        use std::os::unix::process::CommandExt;
        #[repr(C)]
        struct Program(u16, *const [u16; 4]);
        // A filter of one instruction, which allows everything.
        static ALLOW: [u16; 4] = [6, 0, 0, 0x7fff];
        let confine = || {
            let program = Program(1, &raw const ALLOW);
            // SAFETY: the calls only read the program, which has one instruction.
            let done = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program) == 0
            };
            if done { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        let mut command = Command::new("sleep");
        // SAFETY: the closure only makes system calls.
        let (mut child, target) = sleeper(unsafe { command.pre_exec(confine) });
        match seccomp::check(&target) {
            Ok(()) => assert!(target.stopped() > Duration::ZERO),
            Err(error) => eprintln!("skipped: {error}"),
        }
        child.kill().and_then(|()| child.wait()).expect("it is killed");
    }
}
