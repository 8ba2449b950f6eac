//! Whether a process lives, for ranks that wait for what it holds.
//!
//! A number alone does not say: it is given to another process in time. So a process is known by the
//! time that it was started at as well. Processes that see numbers of another kind, in a container or
//! on another host, can't judge each other, and take each other to live.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Error;

/// What a process is known by. All zero is none that can be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Process {
    /// Its number.
    pub number: u64,
    /// When it was started, in ticks since the machine was.
    pub started: u64,
    /// Where its number and its start are counted.
    pub space: u64,
}

impl Process {
    /// This process.
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

    /// Whether it lives, as `judge` sees it, which is this process. Once it does not, it never will.
    pub fn lives(&self, judge: &Process) -> bool {
        let Ok(number) = libc::pid_t::try_from(self.number) else { return true };
        if number == 0 || self.space != judge.space || self == judge {
            return true;
        }
        // SAFETY: signal 0 is sent to nobody.
        let gone = unsafe { libc::kill(number, 0) } != 0
            && Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
        // What is there but can't be read may live.
        let is_other = |now: State| now.ended || now.started != self.started;
        !gone && !state(number.unsigned_abs()).is_some_and(is_other)
    }
}

/// What the kernel says of a process.
struct State {
    /// It has ended, and its parent has not asked yet.
    ended: bool,
    started: u64,
}

fn state(number: u32) -> Option<State> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name before it may have spaces and parentheses of its own.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let letter = fields.next()?;
    // Fields 20 and 22; the letter was the third.
    let threads: u64 = fields.nth(16)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // Of a process that goes on in other threads, the first may have ended.
    Some(State { ended: matches!(letter, "Z" | "X") && threads <= 1, started })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn who_was_started_at_another_time_is_another() {
        let own = Process::own();
        assert!(own.lives(&own) && Process::default().lives(&own));
        assert!(!Process { started: own.started + 1, ..own }.lives(&own));
        assert!(
            Process { started: 1, space: own.space ^ 1, ..own }.lives(&own),
            "not to be judged"
        );
    }

    #[test]
    fn who_has_ended_does_not_live() {
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
