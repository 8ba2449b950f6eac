//! A stopped thread of the process.

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
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
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
