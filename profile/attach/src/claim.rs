//! Only one command at a time has a process.
//!
//! A command listens at an abstract socket whose name has the process's number and the time when it
//! began. The kernel gives a name to one socket only, takes it away when the command ends, however it
//! ends, and tells a process that connects which one listens.

use std::fs::read_to_string;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::refusal::{Error, Refusal};

/// A process that no other command has.
#[derive(Debug)]
pub struct Claim {
    _listener: UnixListener,
}

impl Claim {
    /// Claims a process that began at this time.
    ///
    /// # Errors
    /// [`Refusal::Claimed`] with the process that has it.
    pub fn new(pid: u32, began: u64) -> Result<Claim, Error> {
        let failed = |source| Error::System { what: "claim the process", source };
        let name = format!("syncline-live-{pid}-{began}");
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        for _ in 0..100 {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => return Ok(Claim { _listener: listener }),
                Err(e) if e.kind() == ErrorKind::AddrInUse => {}
                Err(e) => return Err(failed(e)),
            }
            // No process listens if it has just ended.
            if let Ok(stream) = UnixStream::connect_addr(&address) {
                let by = peer(&stream);
                return Err(Refusal::Claimed { pid, by, name: name_of(by) }.into());
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(Refusal::Claimed { pid, by: 0, name: String::new() }.into())
    }
}

/// The process that listens at the other end.
fn peer(stream: &UnixStream) -> u32 {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes as many bytes as it is told that there are.
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

/// A process's name in brackets, with a blank before it; empty if that can't be read.
pub fn name_of(pid: u32) -> String {
    let name = read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.is_empty() { name } else { format!(" ({})", name.trim_end()) }
}
