//! Whether a process is alive. A rank that waits for something that another rank holds needs to
//! know that.
//!
//! A process number alone does not identify a process: after the process has ended, another one may
//! get the number. So a process is identified by its start time as well. Processes in different
//! containers or on different hosts count process numbers separately. Such processes can't check
//! each other, and each counts as alive for the other.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Error, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// The identity of a process. A value of zeros stands for a process that can't be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Process {
    /// The process's number.
    pub number: u64,
    /// When the process was started, in clock ticks since the machine was started.
    pub started: u64,
    /// A hash of the machine's boot and of the namespaces in which the number and the start time
    /// are counted.
    pub space: u64,
}

impl Process {
    /// The identity of this process, or zeros if the kernel does not give it.
    pub fn own() -> Process {
        let number = std::process::id();
        let links = ["pid", "time"].map(|name| fs::read_link(format!("/proc/self/ns/{name}")).ok());
        let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let mut space = DefaultHasher::new();
        (&links, machine).hash(&mut space);
        match state(number) {
            Some(State { started, .. }) if links[0].is_some() => {
                Process { number: number.into(), started, space: space.finish() }
            }
            _ => Process::default(),
        }
    }

    /// Whether the process is alive, as far as this process can see. `judge` is the identity of
    /// this process. Once the answer is no, it stays no. A process that can't be checked counts as
    /// alive.
    pub fn lives(&self, judge: &Process) -> bool {
        let Ok(number) = libc::pid_t::try_from(self.number) else { return true };
        if number == 0 || self.space != judge.space || self == judge {
            return true;
        }
        // SAFETY: signal 0 is only a check, and is never delivered.
        let gone = unsafe { libc::kill(number, 0) } != 0
            && Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
        // If a process exists and its state can't be read, it may be alive.
        let is_other = |now: State| now.ended || now.started != self.started;
        !gone && !state(number.unsigned_abs()).is_some_and(is_other)
    }
}

/// Makes a process that this command starts be killed when the thread that starts it, or the thread's
/// process, ends.
pub fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let end_with = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the call above.
        if Pid::as_raw(getppid()).cast_unsigned() == parent {
            Ok(())
        } else {
            Err(ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec, this only makes two system calls and allocates nothing.
    unsafe { command.pre_exec(end_with) };
}

/// The kernel's information about a process.
struct State {
    /// Whether the process has ended, and its parent has not waited for it yet.
    ended: bool,
    started: u64,
}

fn state(number: u32) -> Option<State> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The last parenthesis ends the process's name, which may contain spaces and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let letter = fields.next()?;
    // Fields 20 and 22 of the line; the state's letter was field 3.
    let threads: u64 = fields.nth(16)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // After its first thread has ended, a process may continue in other threads.
    Some(State { ended: matches!(letter, "Z" | "X") && threads <= 1, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_another_start_time_is_not_alive() {
        let own = Process::own();
        assert!(own.lives(&own) && Process::default().lives(&own));
        assert!(!Process { started: own.started + 1, ..own }.lives(&own));
        assert!(
            Process { started: 1, space: own.space ^ 1, ..own }.lives(&own),
            "not to be judged"
        );
    }

    #[test]
    fn an_ended_process_is_not_alive() {
        let own = Process::own();
        let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
        let started = state(child.id()).expect("it is there").started;
        let other = Process { number: child.id().into(), started, space: own.space };
        assert!(other.lives(&own));
        child.kill().expect("it is killed");
        while !state(child.id()).expect("its parent has not asked").ended {
            std::thread::yield_now();
        }
        assert!(!other.lives(&own), "before its parent has asked");
        child.wait().expect("it has ended");
        assert!(!other.lives(&own));
    }
}
