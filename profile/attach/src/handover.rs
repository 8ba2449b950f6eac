//! Gives open files to the process. The process makes a pair of sockets, this command takes one of
//! them (`pidfd_getfd`) and sends the files through it. No path is involved, so it does not matter
//! which file system the process sees, or who owns the files.

use std::fs::File;
use std::io::{Error as IoError, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use object::NativeEndian;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::borrow::Borrowed;
use crate::memory::Memory;
use crate::refusal::Error;

/// Fields of an ELF header: the offset of the section table, and (in [`SECTION_NUMBERS`]) the
/// number of sections and the index of the section with their names.
const SECTIONS_AT: Range<usize> = 40..48;
const SECTION_NUMBERS: Range<usize> = 60..64;

/// Copies a library to memory without a name, so that no other process can replace it later. That
/// memory is in use as long as the process runs, so only the part that the loader maps is copied.
pub fn in_memory(library: &Path) -> Result<File, Error> {
    let failed = |source| Error::System { what: "read the recorder", source };
    let mut bytes = std::fs::read(library).map_err(failed)?;
    if let Some(end) = end_of_mapped(&bytes) {
        // The section table is cut off, so the header must not refer to it.
        bytes[SECTIONS_AT].fill(0);
        bytes[SECTION_NUMBERS].fill(0);
        bytes.truncate(end);
    }
    // SAFETY: the name ends in a zero byte, and the new descriptor has no other owner.
    let mut file = unsafe {
        let flags = libc::MFD_CLOEXEC;
        let descriptor = libc::memfd_create(c"syncline-recorder".as_ptr(), flags);
        if descriptor < 0 {
            return Err(Error::last("make memory for the recorder"));
        }
        File::from_raw_fd(descriptor)
    };
    file.write_all(&bytes).map_err(failed)?;
    Ok(file)
}

/// The end of the part of a library's bytes that the loader maps; `None` if that is unknown.
fn end_of_mapped(library: &[u8]) -> Option<usize> {
    let header = FileHeader64::<NativeEndian>::parse(library).ok()?;
    let headers = header.program_headers(NativeEndian, library).ok()?.iter();
    let loads = headers.filter(|part| part.p_type(NativeEndian) == PT_LOAD);
    let ends = loads.map(|part| part.p_offset(NativeEndian) + part.p_filesz(NativeEndian));
    ends.max().map(|end| end as usize).filter(|&end| end <= library.len())
}

/// Gives an open file to the process. Returns the file's descriptor there.
pub fn give(borrowed: &mut Borrowed<'_>, memory: Memory, file: &File) -> Result<RawFd, Error> {
    let pid = memory.0;
    let lost = |source| Error::System { what: "read from the process", source };
    let checked = |what, result: i64| {
        let why = || IoError::from_raw_os_error(-result as i32).to_string();
        if result < 0 { Err(Error::Failed { pid, what, why: why() }) } else { Ok(result) }
    };
    let room = borrowed.room();
    let kind = (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as u64;
    let family = libc::AF_UNIX as u64;
    let made = borrowed.system_call("socketpair", libc::SYS_socketpair, [family, kind, 0, room])?;
    checked("socketpair", made)?;
    let pair = memory.word(room).map_err(lost)?;
    let (ours, theirs) = (pair as u32, (pair >> 32) as u32);
    let given = (|| {
        send(&take(pid, ours as i32)?, file)?;
        let message = Message::new(room + 64);
        memory.write(room + 64, &message.bytes()).map_err(lost)?;
        let flags = (libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT) as u64;
        let arguments = [theirs.into(), room + 64, flags, 0];
        checked("recvmsg", borrowed.system_call("recvmsg", libc::SYS_recvmsg, arguments)?)?;
        memory.word(room + 64 + Message::DESCRIPTOR).map_err(lost)
    })();
    for descriptor in [ours, theirs] {
        close(borrowed, descriptor as i32)?;
    }
    Ok(given? as i32)
}

/// Closes a descriptor of the process.
pub fn close(borrowed: &mut Borrowed<'_>, descriptor: RawFd) -> Result<(), Error> {
    borrowed.system_call("close", libc::SYS_close, [descriptor as u64, 0, 0, 0]).map(drop)
}

/// Makes a copy of a descriptor of the process for this command.
fn take(pid: u32, descriptor: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: the calls only get numbers, and the new descriptors have no other owner.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, pid, 0) as i32;
        if process < 0 {
            return Err(Error::last("open the process"));
        }
        let process = OwnedFd::from_raw_fd(process);
        let taken = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) as i32;
        if taken < 0 {
            return Err(Error::last("take a descriptor of the process (Linux 5.6)"));
        }
        Ok(OwnedFd::from_raw_fd(taken))
    }
}

fn send(socket: &OwnedFd, file: &File) -> Result<(), Error> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0u64; 3];
    // SAFETY: all zero is a valid message, and its pointers lead to the variables above.
    let sent = unsafe {
        control[0] = libc::CMSG_LEN(4) as u64;
        control[1] = libc::SOL_SOCKET as u64 | (libc::SCM_RIGHTS as u64) << 32;
        control[2] = file.as_raw_fd() as u64;
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of_val(&control);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, 0)
    };
    if sent < 0 { Err(Error::last("give the process a file")) } else { Ok(()) }
}

/// The memory for a message that the process is to receive, from the address `at` on: the message's
/// header, then a byte of data, then the control data with the descriptor.
struct Message {
    at: u64,
}

impl Message {
    const PART: u64 = 56;
    const BYTE: u64 = 72;
    const CONTROL: u64 = 80;
    const DESCRIPTOR: u64 = Message::CONTROL + 16;

    fn new(at: u64) -> Message {
        Message { at }
    }

    fn bytes(&self) -> Vec<u8> {
        let at = self.at;
        let words = [
            0,
            0,
            at + Message::PART,
            1,
            at + Message::CONTROL,
            24,
            0, // header
            at + Message::BYTE,
            1,
            0,
            0,
            0,
            0,
            0,
        ];
        words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mapped_part_of_a_file_is_copied() {
        let program = std::env::current_exe().expect("a path");
        let bytes = std::fs::read(&program).expect("it can be read");
        let copy = in_memory(&program).expect("memory");
        let end = copy.metadata().expect("a length").len() as usize;
        // The part that is cut off has at least the names of all functions.
        assert!(end < bytes.len() && end == end_of_mapped(&bytes).expect("a library"));
        assert_eq!(end_of_mapped(&bytes[..100]), None, "its headers are missing");
    }
}
