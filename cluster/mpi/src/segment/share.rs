//! How the ranks of a window get a shared segment.
//!
//! One rank makes a file without a name (`memfd_create`), and sends its process number and the file
//! descriptor to the other ranks, which open the file in `/proc`. So nothing is left when a job is
//! killed, and a full `/dev/shm` does not matter. The file begins with random bytes, which are sent
//! as well. If a rank finds other bytes or no file, it is on another host, or in a container from
//! which it can't reach the first rank's memory. So this test decides whether two ranks are on one
//! host; the numbers of `hosts::place` only show which ranks may be.

use std::ffi::{CString, c_int};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process;

use super::region::Area;

/// The data that the rank that has made a segment sends to the other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ticket {
    process: u64,
    descriptor: u64,
    /// Random bytes; zeros if there is no segment.
    token: [u64; 2],
}

/// The size of a ticket in bytes.
pub const TICKET: usize = size_of::<Ticket>();

impl Ticket {
    /// Encodes the ticket.
    pub fn to_bytes(self) -> [u8; TICKET] {
        let mut bytes = [0; TICKET];
        let words = [self.process, self.descriptor, self.token[0], self.token[1]];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Decodes a ticket.
    pub fn from_bytes(bytes: [u8; TICKET]) -> Ticket {
        let mut words = bytes.chunks_exact(8).map(|chunk| {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        });
        let mut next = || words.next().unwrap_or_default();
        Ticket { process: next(), descriptor: next(), token: [next(), next()] }
    }
}

/// A new segment, and the file that the other ranks open.
#[derive(Debug)]
pub struct Made {
    /// The segment.
    pub area: Area,
    /// The ticket for the other ranks.
    pub ticket: Ticket,
    /// The file, which stays open until all other ranks have opened it.
    _file: OwnedFd,
}

/// Makes a segment of `size` bytes. The segment begins with the token, and the rest is zero.
pub fn make(position: usize, size: usize) -> Option<Made> {
    // SAFETY: the name is a constant string, and the descriptor is new.
    let file = unsafe {
        let file = libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC);
        (file >= 0).then(|| OwnedFd::from_raw_fd(file))?
    };
    // Allocates the memory now. If there is too little, that is an error here, and not a signal at
    // the first access.
    // SAFETY: the descriptor is ours.
    if unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as libc::off_t) } != 0 {
        return None;
    }
    let area = Area::map(file.as_raw_fd(), position, size)?;
    let mut token = [0u64; 2];
    // SAFETY: the kernel fills in the token.
    let filled = unsafe { libc::getrandom(token.as_mut_ptr().cast(), size_of_val(&token), 0) };
    if filled != size_of_val(&token) as isize {
        return None;
    }
    // SAFETY: the segment has room for the token at its beginning, and no other rank has the
    // segment yet.
    unsafe { area.at::<[u64; 2]>(0).write(token) };
    let descriptor = file.as_raw_fd() as u64;
    Some(Made {
        area,
        ticket: Ticket { process: process::id().into(), descriptor, token },
        _file: file,
    })
}

/// Opens the segment that a ticket describes. Returns `None` if this rank can't reach it.
pub fn open(ticket: Ticket, position: usize, size: usize) -> Option<Area> {
    let path = format!("/proc/{}/fd/{}", ticket.process, ticket.descriptor);
    // If this is another host, the link may lead to any file. So the file's name is checked before
    // the file is opened.
    let target = fs::read_link(&path).ok()?;
    if ticket.token == [0; 2] || !target.as_os_str().as_bytes().starts_with(LINKED.as_bytes()) {
        return None;
    }
    let path = CString::new(path).ok()?;
    let flags: c_int = libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path is a string, and the descriptor is new.
    let file = unsafe {
        let file = libc::open(path.as_ptr(), flags);
        (file >= 0).then(|| OwnedFd::from_raw_fd(file))?
    };
    let length = fs::File::from(file.try_clone().ok()?).metadata().ok()?.len();
    if length < size as u64 {
        return None;
    }
    let area = Area::map(file.as_raw_fd(), position, size)?;
    // SAFETY: the file is at least as long as the segment, and its token never changes.
    let found = unsafe { area.at::<[u64; 2]>(0).read() };
    (found == ticket.token).then_some(area)
}

/// The file's name, which is visible in `/proc`.
const NAME: &std::ffi::CStr = c"syncline-window";
/// The beginning of the file's name in a link in `/proc`.
const LINKED: &str = "/memfd:syncline-window";
