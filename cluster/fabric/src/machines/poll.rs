//! Waits for bytes of a connection: by polling at first, and then asleep.
//!
//! To wake a thread takes the kernel longer than to carry a short message. So a thread polls for
//! [`POLLED`] before it sleeps. Between two polls it lets other threads run.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};

/// How long a thread polls.
const POLLED: Duration = Duration::from_micros(40);

/// Reads exactly as many bytes as fit.
///
/// # Errors
///
/// If the connection is lost.
pub fn read(mut stream: &TcpStream, mut into: &mut [u8]) -> io::Result<()> {
    let start = Instant::now();
    while !into.is_empty() {
        match recv(stream, &mut *into, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok((read, _)) => into = &mut into[read..],
            Err(_) if start.elapsed() < POLLED => thread::yield_now(),
            Err(_) => return stream.read_exact(into),
        }
    }
    Ok(())
}

/// Waits until there is something to read, or for a while.
pub fn wait(stream: &TcpStream) {
    let start = Instant::now();
    let is_empty = || recv(stream, &mut [0][..], RecvFlags::DONTWAIT | RecvFlags::PEEK).is_err();
    while is_empty() && start.elapsed() < POLLED {
        thread::yield_now();
    }
}
