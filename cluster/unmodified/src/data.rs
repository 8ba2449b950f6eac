//! System calls that move data between a file and global memory.
//!
//! If a page is absent in the middle of the data, the kernel moves what is in front of it and says
//! so; and a page that was made present can be dropped again before the call. So the kernel moves
//! the data from and to memory of this library, and this code copies it.

use std::ptr::without_provenance_mut;

use libc::{iovec, msghdr};

use crate::call::{Call, retried};
use crate::image::is_global;

/// The most bytes that the kernel moves by one call.
const MOST: usize = 0x7fff_f000;
/// The most pieces that a call may have (`IOV_MAX`).
const PIECES: usize = 1024;

/// The data that a call moves: the numbers of the arguments for its address and its size.
struct Data {
    at: usize,
    bytes: usize,
    /// Whether the call reads the data, and does not write it.
    sends: bool,
}

/// The data of a call that moves one piece; `None` for other calls.
fn data_of(number: i64) -> Option<Data> {
    let data = |at, sends| Some(Data { at, bytes: at + 1, sends });
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom | libc::SYS_getdents64 => {
            data(1, false)
        }
        libc::SYS_getrandom => data(0, false),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => data(1, true),
        _ => None,
    }
}

/// The number of the argument for the data that a call moves, and how many bytes these are; `None`
/// if it does not move one piece.
pub fn moved(call: Call) -> Option<(usize, usize)> {
    data_of(call.number).map(|data| (data.at, call.arguments[data.bytes].min(MOST)))
}

/// Makes a call on this rank.
pub fn make(call: Call) -> i64 {
    match data_of(call.number) {
        Some(data) if data.sends => return sent(call, &data),
        Some(data) => return received(call, &data),
        None => {}
    }
    match call.number {
        libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => scattered(call),
        libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => gathered(call),
        libc::SYS_sendmsg => message_sent(call),
        libc::SYS_recvmsg => message_received(call),
        _ => retried(call),
    }
}

/// Copies data of the program.
fn copy(from: usize, bytes: usize) -> Vec<u8> {
    let mut copy = Vec::with_capacity(bytes);
    // SAFETY: the program's data, for its own call; the copy has room for it.
    unsafe {
        let from = without_provenance_mut::<u8>(from);
        from.copy_to_nonoverlapping(copy.as_mut_ptr(), bytes);
        copy.set_len(bytes);
    }
    copy
}

/// Copies data into the program's memory.
fn copy_back(data: &[u8], to: usize) {
    // SAFETY: the program's memory, for its own call.
    unsafe { without_provenance_mut::<u8>(to).copy_from_nonoverlapping(data.as_ptr(), data.len()) };
}

/// A call that sends data.
fn sent(mut call: Call, &Data { at, bytes, .. }: &Data) -> i64 {
    let (from, most) = (call.arguments[at], call.arguments[bytes].min(MOST));
    if !is_global(from) {
        return retried(call);
    }
    let data = copy(from, most);
    call.arguments[at] = data.as_ptr().addr();
    call.arguments[bytes] = most;
    retried(call)
}

/// A call that receives data.
fn received(mut call: Call, &Data { at, bytes, .. }: &Data) -> i64 {
    let (to, most) = (call.arguments[at], call.arguments[bytes].min(MOST));
    if !is_global(to) {
        return retried(call);
    }
    let mut data = Vec::<u8>::with_capacity(most);
    call.arguments[at] = data.as_mut_ptr().addr();
    call.arguments[bytes] = most;
    let result = retried(call);
    // SAFETY: the kernel has written so many bytes. (With MSG_TRUNC it says more than there is room
    // for.)
    unsafe { data.set_len((result.max(0) as usize).min(most)) };
    copy_back(&data, to);
    result
}

/// The pieces of a call, as the program lists them.
fn pieces(list: usize, count: usize) -> Vec<iovec> {
    let at = |number| without_provenance_mut::<iovec>(list).wrapping_add(number);
    // SAFETY: the program's own list.
    (0..count.min(PIECES)).map(|number| unsafe { at(number).read() }).collect()
}

/// The bytes of all pieces, and at most as many as the kernel moves.
fn bytes(pieces: &[iovec]) -> usize {
    pieces.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.iov_len)).min(MOST)
}

/// The data of all pieces, one after another.
fn gather(pieces: &[iovec]) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes(pieces));
    for piece in pieces {
        let most = piece.iov_len.min(MOST - data.len());
        data.extend(copy(piece.iov_base.addr(), most));
    }
    data
}

/// Distributes data over the pieces.
fn scatter(mut data: &[u8], pieces: &[iovec]) {
    for piece in pieces {
        let (now, rest) = data.split_at(piece.iov_len.min(data.len()));
        copy_back(now, piece.iov_base.addr());
        data = rest;
    }
}

fn piece(data: *mut u8, bytes: usize) -> iovec {
    iovec { iov_base: data.cast(), iov_len: bytes }
}

/// A call that sends a list of pieces.
fn gathered(mut call: Call) -> i64 {
    let mut data = gather(&pieces(call.arguments[1], call.arguments[2]));
    let one = piece(data.as_mut_ptr(), data.len());
    call.arguments[1] = (&raw const one).addr();
    call.arguments[2] = 1;
    retried(call)
}

/// A call that receives a list of pieces.
fn scattered(mut call: Call) -> i64 {
    let pieces = pieces(call.arguments[1], call.arguments[2]);
    let most = bytes(&pieces);
    let mut data = Vec::<u8>::with_capacity(most);
    let one = piece(data.as_mut_ptr(), most);
    call.arguments[1] = (&raw const one).addr();
    call.arguments[2] = 1;
    let result = retried(call);
    // SAFETY: the kernel has written so many bytes.
    unsafe { data.set_len((result.max(0) as usize).min(most)) };
    scatter(&data, &pieces);
    result
}

/// A message of the program with all that it points to, in memory of this library.
struct Message {
    header: msghdr,
    pieces: Vec<iovec>,
    data: Vec<u8>,
    one: iovec,
    name: Vec<u8>,
    control: Vec<u8>,
}

impl Message {
    fn of(at: usize) -> Box<Message> {
        // SAFETY: the program's own message.
        let header = unsafe { without_provenance_mut::<msghdr>(at).read() };
        let mut message = Box::new(Message {
            header,
            pieces: pieces(header.msg_iov.addr(), header.msg_iovlen),
            data: Vec::new(),
            one: piece(std::ptr::null_mut(), 0),
            name: copy(header.msg_name.addr(), header.msg_namelen as usize),
            control: copy(header.msg_control.addr(), header.msg_controllen),
        });
        message.data = gather(&message.pieces);
        message.one = piece(message.data.as_mut_ptr(), message.data.len());
        message.header.msg_iov = &raw mut message.one;
        message.header.msg_iovlen = 1;
        if !header.msg_name.is_null() {
            message.header.msg_name = message.name.as_mut_ptr().cast();
        }
        if !header.msg_control.is_null() {
            message.header.msg_control = message.control.as_mut_ptr().cast();
        }
        message
    }
}

/// `sendmsg`.
fn message_sent(mut call: Call) -> i64 {
    let message = Message::of(call.arguments[1]);
    call.arguments[1] = (&raw const message.header).addr();
    retried(call)
}

/// `recvmsg`.
fn message_received(mut call: Call) -> i64 {
    let at = call.arguments[1];
    let mut message = Message::of(at);
    call.arguments[1] = (&raw mut message.header).addr();
    let result = retried(call);
    if result >= 0 {
        let Message { header, pieces, data, name, control, .. } = &*message;
        scatter(&data[..data.len().min(result as usize)], pieces);
        // SAFETY: the program's own message. The fields of the kernel's answer are copied; where
        // the data lies, stays as the program has it.
        unsafe {
            let original = &mut *without_provenance_mut::<msghdr>(at);
            let names = name.len().min(header.msg_namelen as usize);
            copy_back(&name[..names], original.msg_name.addr());
            let controls = control.len().min(header.msg_controllen);
            copy_back(&control[..controls], original.msg_control.addr());
            original.msg_namelen = header.msg_namelen;
            original.msg_controllen = header.msg_controllen;
            original.msg_flags = header.msg_flags;
        }
    }
    result
}
