//! Whether a sleeping thread waits for input that its own process gives.
//!
//! Threads of one process also hand things over through the kernel: by an event counter (`eventfd`), a
//! pipe, or a pair of Unix sockets. The process then has both ends.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::libc;

use crate::asleep::State;
use crate::awaited::input_of;
use crate::sockets::{Descriptors, Tables};
use crate::times::processor_time;

/// A thread that waits for more descriptors than this serves others.
const MOST: usize = 8;
/// A process's descriptors are read at most this often, and take at most one part in `SHARE` of a
/// processor's time.
const PAUSE: Duration = Duration::from_secs(1);
const SHARE: u32 = 50;

/// The descriptors by which threads of a process wait for each other.
#[derive(Default)]
pub struct Inner {
    tables: Tables,
    processes: HashMap<u32, Ends>,
}

/// The pipes and sockets of which a process has both ends, as `/proc/PID/fd` names them.
#[derive(Default)]
struct Ends {
    both: HashSet<PathBuf>,
    next: Option<Instant>,
}

impl Inner {
    /// Whether a sleeping thread of the process waits for nothing but input that the process itself
    /// gives.
    pub fn awaits(&mut self, pid: u32, state: &State) -> bool {
        match i64::from(state.call) {
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6 => {}
            // An event loop also waits for what comes from outside.
            _ => return false,
        }
        let input = input_of(pid, state, &Descriptors::default()).unwrap_or_default();
        let awaited = !input.is_empty() && input.len() <= MOST;
        awaited && input.into_iter().all(|descriptor| self.is_inner(pid, descriptor))
    }

    fn is_inner(&mut self, pid: u32, descriptor: i32) -> bool {
        let Ok(target) = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else {
            return false;
        };
        let is = |start: &str| target.to_string_lossy().starts_with(start);
        if is("anon_inode:[eventfd]") {
            return true;
        }
        (is("pipe:") || is("socket:")) && self.ends(pid).contains(&target)
    }

    /// The pipes and sockets of which a process has both ends, as of about a second ago.
    fn ends(&mut self, pid: u32) -> &HashSet<PathBuf> {
        let ends = self.processes.entry(pid).or_default();
        let began = Instant::now();
        if ends.next.is_none_or(|next| began >= next) {
            let used_before = processor_time();
            ends.both = both_ends(pid, &mut self.tables);
            let used = processor_time().saturating_sub(used_before);
            ends.next = Some(began + PAUSE.max(used * SHARE));
        }
        &ends.both
    }
}

fn both_ends(pid: u32, tables: &mut Tables) -> HashSet<PathBuf> {
    let mut number: HashMap<PathBuf, usize> = HashMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        if let Ok(target) = fs::read_link(entry.path()) {
            *number.entry(target).or_default() += 1;
        }
    }
    let pairs = tables.pairs(pid);
    let name = |inode: &u64| PathBuf::from(format!("socket:[{inode}]"));
    let has = |inode: &u64| number.contains_key(&name(inode));
    let sockets = pairs.iter().filter(|(one, other)| has(one) && has(other));
    let mut both: HashSet<PathBuf> = sockets.map(|(one, _)| name(one)).collect();
    // Both ends of a pipe have one name.
    let is_pipe = |target: &PathBuf| target.to_string_lossy().starts_with("pipe:");
    let pipes = number.into_iter().filter(|(target, ends)| *ends > 1 && is_pipe(target));
    both.extend(pipes.map(|(target, _)| target));
    both
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio, id};
    use std::ptr::from_mut;

    use super::*;

    fn awaits(call: i64, arguments: [u64; 2]) -> bool {
        let [first, second] = arguments;
        let arguments = [first, second, 0, 0, 0, 0];
        Inner::default().awaits(id(), &State { call: call as u32, arguments, sp: 0, ip: 0 })
    }

    fn reads(descriptor: RawFd) -> bool {
        awaits(libc::SYS_read, [descriptor as u64, 0])
    }

    #[test]
    fn both_ends_are_the_processs_own() {
        let (one, _other) = UnixStream::pair().expect("two sockets");
        assert!(reads(one.as_raw_fd()));
        let (end, kept) = std::io::pipe().expect("a pipe");
        assert!(reads(end.as_raw_fd()));
        drop(kept);
        assert!(!reads(end.as_raw_fd()), "the other end is another process's, if any");
        let counter = nix::sys::eventfd::EventFd::new().expect("a counter");
        let entry = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let counter = std::os::fd::AsFd::as_fd(&counter).as_raw_fd();
        let mut polled = [entry(counter), entry(one.as_raw_fd()), entry(end.as_raw_fd())];
        let at = from_mut(&mut polled) as u64;
        assert!(awaits(libc::SYS_poll, [at, 2]));
        assert!(!awaits(libc::SYS_poll, [at, 3]), "one of them is not");
        assert!(!awaits(libc::SYS_poll, [at, 0]), "none");
    }

    #[test]
    fn another_process_or_a_network_has_the_other_end() {
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
        assert!(!reads(child.stdout.as_ref().expect("its output").as_raw_fd()));
        drop(child.stdin.take());
        child.wait().expect("it ends");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).expect("it connects");
        assert!(!reads(client.as_raw_fd()));
    }
}
