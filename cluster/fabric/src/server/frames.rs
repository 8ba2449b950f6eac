//! Messages in a stream of bytes. Each comes after its length and its number.
//!
//! ```text
//!   u32 length of the rest | u64 number | bytes       little-endian
//! ```
//!
//! Reading and writing never block: bytes that can't be read or written now are left for a later
//! call.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// A message, with its number, is shorter than this many bytes. A peer that announces a longer one
/// does not belong to this job.
pub(super) const LONGEST: usize = 1 << 30;
/// The limit for a caller that has not sent the token yet.
pub(super) const HELLO: usize = 32;
const HEAD: usize = 12;
/// The most bytes that one read of the stream returns.
const CHUNK: usize = 16 * 1024;

/// Bytes that have arrived; the first of them may have been taken.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// How many of the bytes were taken.
    taken: usize,
}

impl Inbox {
    /// Reads the bytes that have arrived. Returns whether the other end is still connected; after
    /// an error, it is not.
    pub(super) fn fill(&mut self, mut stream: &TcpStream) -> io::Result<bool> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        loop {
            let end = self.bytes.len();
            self.bytes.resize(end + CHUNK, 0);
            let read = stream.read(&mut self.bytes[end..]);
            self.bytes.truncate(end + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(false),
                Ok(CHUNK) => {}
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the number and the bytes of the next message, or `None` if it has not arrived
    /// completely.
    ///
    /// # Errors
    ///
    /// If the bytes are not a message, or if the message together with its number is not shorter
    /// than `longest`.
    pub(super) fn next(&mut self, longest: usize) -> io::Result<Option<(u64, &[u8])>> {
        let left = &self.bytes[self.taken..];
        let Some((length, rest)) = left.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(8..longest).contains(&length) {
            return Err(ErrorKind::InvalidData.into());
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let Some((number, bytes)) = message.split_first_chunk() else { return Ok(None) };
        self.taken += 4 + length;
        Ok(Some((u64::from_le_bytes(*number), bytes)))
    }
}

/// Bytes to be sent; the first of them may have been sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    gone: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, number: u64, bytes: &[u8]) {
        self.bytes.reserve(HEAD + bytes.len());
        self.bytes.extend(((8 + bytes.len()) as u32).to_le_bytes());
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend(bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gone == self.bytes.len()
    }

    /// Writes as many bytes as the stream accepts now. After an error, the other end is gone.
    pub(super) fn drain(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        while !self.is_empty() {
            match stream.write(&self.bytes[self.gone..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.gone += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.gone = 0;
        Ok(())
    }
}

/// Sets the options of a stream: it sends at once, and reports within about 20 seconds if the other
/// machine is gone.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    use std::time::Duration;

    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    // 20 seconds, in milliseconds.
    sockopt::set_tcp_user_timeout(stream, 20_000)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = TcpStream::connect(listener.local_addr().expect("an address")).expect("there");
        let here = listener.accept().expect("here").0;
        here.set_nonblocking(true).expect("no blocking");
        there.set_nonblocking(true).expect("no blocking");
        (here, there)
    }

    /// One of the messages is longer than what the kernel accepts at once, so both ends have to
    /// continue later.
    #[test]
    fn long_messages_arrive_whole_and_in_order() {
        let (here, there) = pair();
        let (mut out, mut into) = (Outbox::default(), Inbox::default());
        let long: Vec<u8> = (0..8_000_000u32).map(|at| (at % 251) as u8).collect();
        out.push(7, b"");
        out.push(8, &long);
        out.push(9, b"end");
        let mut came = Vec::new();
        while came.len() < 3 {
            out.drain(&here).expect("there");
            assert!(into.fill(&there).expect("here"));
            while let Some((number, bytes)) = into.next(LONGEST).expect("a message") {
                came.push((number, bytes.to_vec()));
            }
        }
        assert!(out.is_empty());
        assert_eq!(came, [(7, vec![]), (8, long), (9, b"end".to_vec())]);
        drop(here);
        while into.fill(&there).expect("nothing") {}
    }

    #[test]
    fn a_frame_of_an_invalid_length_is_refused() {
        for length in [0u32, 7, 1 << 31] {
            let mut into = Inbox { bytes: length.to_le_bytes().to_vec(), taken: 0 };
            into.bytes.extend([0; 64]);
            assert!(into.next(LONGEST).is_err(), "{length}");
        }
    }
}
