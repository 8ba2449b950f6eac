//! For which descriptors a sleeping thread waits, according to its system call.

use std::fs;

use nix::libc;

use crate::asleep::State;
use crate::memory::Memory;
use crate::sockets::Descriptors;

/// The most descriptors of one call that are read.
const MOST: usize = 1 << 16;
/// `libc` has no name for this call.
const IO_PGETEVENTS: i64 = 333;

/// The descriptors for whose input a sleeping thread of the process waits; none if it waits for
/// something else. `None` if that is not known.
pub fn input_of(pid: u32, state: &State, descriptors: &Descriptors) -> Option<Vec<i32>> {
    let [first, second, ..] = state.arguments;
    match i64::from(state.call) {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_splice => Some(vec![first as i32]),
        libc::SYS_sendfile => Some(vec![second as i32]),
        libc::SYS_poll | libc::SYS_ppoll => polled(pid, first, second),
        libc::SYS_select | libc::SYS_pselect6 => selected(pid, first, second),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            watched(pid, first as i32, descriptors, 0)
        }
        libc::SYS_io_uring_enter | libc::SYS_io_getevents | IO_PGETEVENTS => None,
        _ => Some(Vec::new()),
    }
}

/// The descriptors in an array of `struct pollfd` whose input is polled.
fn polled(pid: u32, at: u64, number: u64) -> Option<Vec<i32>> {
    const ENTRY: usize = size_of::<libc::pollfd>();
    let number = usize::try_from(number).ok().filter(|&number| number <= MOST)?;
    let bytes = Memory(pid).vector(at, 0, number * ENTRY)?;
    let input = |entry: &[u8]| {
        let descriptor = i32::from_ne_bytes(entry[..4].try_into().ok()?);
        let events = i16::from_ne_bytes(entry[4..6].try_into().ok()?);
        (events & (libc::POLLIN | libc::POLLRDNORM) != 0).then_some(descriptor)
    };
    Some(bytes.chunks_exact(ENTRY).filter_map(input).collect())
}

/// The descriptors below `limit` in the set at this address, the first set of `select`.
fn selected(pid: u32, limit: u64, at: u64) -> Option<Vec<i32>> {
    let limit = usize::try_from(limit).ok().filter(|&limit| limit <= MOST)?;
    if at == 0 {
        return Some(Vec::new());
    }
    // The kernel reads whole words of the set.
    let bytes = Memory(pid).vector(at, 0, limit.div_ceil(64) * 8)?;
    let is_set = |&descriptor: &usize| bytes[descriptor / 8] >> (descriptor % 8) & 1 != 0;
    Some((0..limit).filter(is_set).map(|descriptor| descriptor as i32).collect())
}

/// The descriptors whose input an epoll instance watches. An instance may watch others.
fn watched(pid: u32, epoll: i32, descriptors: &Descriptors, depth: usize) -> Option<Vec<i32>> {
    /// The kernel allows this many levels.
    const DEEPEST: usize = 5;
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).ok()?;
    let mut found = Vec::new();
    for descriptor in text.lines().filter_map(entry) {
        found.push(descriptor);
        if depth < DEEPEST && descriptors.epolls.contains(&descriptor) {
            found.extend(watched(pid, descriptor, descriptors, depth + 1)?);
        }
    }
    Some(found)
}

/// Reads a line `tfd: DESCRIPTOR events: MASK ...`, if the mask has input.
fn entry(line: &str) -> Option<i32> {
    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let descriptor = words.next()?.parse().ok()?;
    let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
    (events & libc::EPOLLIN as u32 != 0).then_some(descriptor)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::process::id;
    use std::ptr::from_mut;

    use super::*;

    /// What a thread of this process would wait for in a call with these arguments.
    fn of(call: i64, first: u64, second: u64) -> Option<Vec<i32>> {
        let arguments = [first, second, 0, 0, 0, 0];
        let state = State { call: call as u32, arguments, sp: 0, ip: 0 };
        input_of(id(), &state, &Descriptors::of(id()))
    }

    #[test]
    fn calls_for_one_descriptor() {
        assert_eq!(of(libc::SYS_recvfrom, 7, 9), Some(vec![7]));
        assert_eq!(of(libc::SYS_sendfile, 7, 9), Some(vec![9]));
        assert_eq!(of(libc::SYS_futex, 7, 9), Some(vec![]));
        assert_eq!(of(libc::SYS_io_uring_enter, 7, 9), None);
    }

    #[test]
    fn input_that_is_polled_or_selected() {
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut polls =
            [entry(5, libc::POLLIN), entry(6, libc::POLLOUT), entry(7, libc::POLLIN | 0x8)];
        let at = from_mut(&mut polls) as u64;
        assert_eq!(of(libc::SYS_poll, at, 3), Some(vec![5, 7]));
        assert_eq!(of(libc::SYS_ppoll, 1, 3), None, "no such memory");
        let mut set = [0u64; 2];
        set[0] |= 1 << 3;
        set[1] |= 1 << 6 | 1 << 7;
        let at = from_mut(&mut set) as u64;
        assert_eq!(of(libc::SYS_pselect6, 71, at), Some(vec![3, 70]));
        assert_eq!(of(libc::SYS_select, 3, 0), Some(vec![]));
    }

    #[test]
    fn input_that_an_epoll_instance_watches_also_through_another() {
        let (one, other) = UnixStream::pair().expect("two sockets");
        let [outer, inner] = [(); 2].map(|()| {
            // SAFETY: the call has no pointers.
            let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
            assert!(epoll >= 0);
            epoll
        });
        let add = |epoll, descriptor, events: i32| {
            let mut event = libc::epoll_event { events: events as u32, u64: 0 };
            // SAFETY: the call only reads the event.
            let added =
                unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, descriptor, &mut event) };
            assert_eq!(added, 0);
        };
        add(inner, one.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET);
        add(inner, other.as_raw_fd(), libc::EPOLLOUT);
        add(outer, inner, libc::EPOLLIN);
        let found = of(libc::SYS_epoll_wait, outer as u64, 0);
        assert_eq!(found, Some(vec![inner, one.as_raw_fd()]));
        for epoll in [outer, inner] {
            // SAFETY: they are this test's own.
            unsafe { libc::close(epoll) };
        }
    }
}
