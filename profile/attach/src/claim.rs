//! Ensures that only one command at a time is attached to a process.
//!
//! A command listens at an abstract socket whose name contains the process's number and the time
//! when the process began. The kernel gives a name to only one socket, and frees it as soon as the
//! command ends, for whatever reason. A command that connects to the socket can ask the kernel
//! which process listens.
//!
//! Each network namespace has its own names of sockets. So all commands use the network namespace
//! of the process, if the kernel allows that, and the number that the process has for itself.

use std::fs::{File, read_link};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::refusal::{Error, Refusal, name_of};
use crate::target::Target;

/// The right to attach to a process, which only one command has at a time.
#[derive(Debug)]
pub struct Claim {
    _listener: UnixListener,
}

impl Claim {
    /// Claims a process.
    ///
    /// # Errors
    /// [`Refusal::Claimed`], with the command that has claimed the process already;
    /// [`Error::System`] if the socket can't be made.
    pub fn new(target: &Target) -> Result<Claim, Error> {
        let claim = || {
            enter_network(target.pid);
            Claim::here(target)
        };
        // A socket stays in the namespace in which it was made, so only a short-lived thread has to
        // enter that.
        std::thread::scope(|scope| scope.spawn(claim).join().expect("no panic"))
    }

    fn here(target: &Target) -> Result<Claim, Error> {
        let pid = target.pid;
        let failed = |source| Error::System { what: "claim the process", source };
        let name = format!("syncline-live-{}-{}", target.own_number, target.began);
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        for _ in 0..100 {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => return Ok(Claim { _listener: listener }),
                Err(e) if e.kind() == ErrorKind::AddrInUse => {}
                Err(e) => return Err(failed(e)),
            }
            // The connection fails if the other command has just ended. In that case the name is
            // tried again.
            if let Ok(stream) = UnixStream::connect_addr(&address) {
                let by = peer(&stream);
                return Err(Refusal::Claimed { pid, by: describe(by) }.into());
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(Refusal::Claimed { pid, by: describe(0) }.into())
    }
}

/// Moves the calling thread to the network namespace of a process, if that is a different one and
/// the kernel allows it.
fn enter_network(pid: u32) {
    let theirs = format!("/proc/{pid}/ns/net");
    let (own, other) = (read_link("/proc/self/ns/net"), read_link(&theirs));
    if own.is_ok_and(|own| other.is_ok_and(|other| own != other))
        && let Ok(namespace) = File::open(theirs)
    {
        // SAFETY: the descriptor is that of an open file.
        unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    }
}

/// The number of the process that listens at the other end; 0 if it is in another namespace.
fn peer(stream: &UnixStream) -> u32 {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most the given number of bytes.
    unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &raw mut length,
        );
    }
    who.pid as u32
}

/// Describes the command with this process number, which is 0 if it is unknown.
fn describe(by: u32) -> String {
    match by {
        0 => "a command in another container".to_owned(),
        _ => format!("process {by}{}", name_of(by)),
    }
}
