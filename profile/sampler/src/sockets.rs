//! The TCP sockets of a process: what waits in them to be read, and by which descriptors the process
//! knows them. And which Unix sockets are connected to which.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_packet_sock_diag::unix::nlas::Nla;
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags as UnixStates, UnixRequest};
use netlink_sys::{Socket as Netlink, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use nix::sched::{CloneFlags, setns};

/// A TCP socket that listens or is connected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Socket {
    /// The number by which the kernel knows the socket, in all network namespaces.
    pub inode: u64,
    /// Whether it listens for connections.
    pub listens: bool,
    /// The port of this side.
    pub port: u16,
    /// The port of the other side; 0 if the socket listens.
    pub peer: u16,
    /// The number of bytes that can be read; for a socket that listens, the number of connections
    /// that can be accepted.
    pub unread: u32,
}

impl Socket {
    /// The number of clients that wait for something of this socket to be read.
    pub fn clients(&self) -> u64 {
        if self.listens { self.unread.into() } else { u64::from(self.unread > 0) }
    }
}

/// The kernel's tables of sockets, one for each network namespace. The kernel is asked through a
/// netlink socket (`sock_diag`), which belongs to the namespace in which it was made. (The files
/// `/proc/PID/net/tcp` have the same, and take twenty times as long.)
#[derive(Default)]
pub struct Tables(HashMap<PathBuf, Option<Netlink>>);

impl Tables {
    /// The sockets in the network namespaces of these processes that listen or are connected. In
    /// other states a connection has nothing to read, or its other side has ended it.
    pub fn sockets(&mut self, processes: &BTreeSet<u32>) -> Vec<Socket> {
        let mut seen = HashSet::new();
        let mut sockets = Vec::new();
        for pid in processes {
            let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/net")) else { continue };
            if !seen.insert(namespace.clone()) {
                continue;
            }
            let Some(netlink) = self.of(*pid, namespace) else { continue };
            for family in [AF_INET, AF_INET6] {
                // What could not be read has no requests.
                let _ = read(netlink, family, &mut sockets);
            }
        }
        sockets
    }

    /// The connected Unix sockets in the network namespace of a process, each with the one that it is
    /// connected to.
    pub fn pairs(&mut self, pid: u32) -> HashMap<u64, u64> {
        let mut pairs = HashMap::new();
        let namespace = fs::read_link(format!("/proc/{pid}/ns/net"));
        if let Some(netlink) = namespace.ok().and_then(|namespace| self.of(pid, namespace)) {
            // Sockets that could not be read have no partner.
            let _ = read_pairs(netlink, &mut pairs);
        }
        pairs
    }

    /// The netlink socket in a process's network namespace.
    fn of(&mut self, pid: u32, namespace: PathBuf) -> Option<&Netlink> {
        let open = |namespace: &PathBuf| open(pid, namespace).ok();
        self.0.entry(namespace).or_insert_with_key(open).as_ref()
    }
}

/// A netlink socket in the network namespace of a process. Another namespace than the own one needs
/// the right to enter it.
fn open(pid: u32, namespace: &Path) -> io::Result<Netlink> {
    const OWN: &str = "/proc/thread-self/ns/net";
    let new = || {
        let mut netlink = Netlink::new(NETLINK_SOCK_DIAG)?;
        netlink.bind_auto()?;
        netlink.connect(&SocketAddr::new(0, 0))?;
        Ok(netlink)
    };
    if fs::read_link(OWN)? == namespace {
        return new();
    }
    let (own, other) = (File::open(OWN)?, File::open(format!("/proc/{pid}/ns/net"))?);
    setns(other, CloneFlags::CLONE_NEWNET)?;
    let netlink = new();
    setns(own, CloneFlags::CLONE_NEWNET)?;
    netlink
}

/// Adds all TCP sockets of an address family.
fn read(netlink: &Netlink, family: u8, sockets: &mut Vec<Socket>) -> io::Result<()> {
    let request = SockDiagMessage::InetRequest(InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::LISTEN | StateFlags::ESTABLISHED,
        socket_id: if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() },
    });
    dump(netlink, request, |answer| {
        if let SockDiagMessage::InetResponse(response) = answer {
            let header = response.header;
            sockets.push(Socket {
                inode: header.inode.into(),
                listens: header.state == LISTEN,
                port: header.socket_id.source_port,
                peer: header.socket_id.destination_port,
                unread: header.recv_queue,
            });
        }
    })
}

/// Adds all connected Unix sockets.
fn read_pairs(netlink: &Netlink, pairs: &mut HashMap<u64, u64>) -> io::Result<()> {
    let request = SockDiagMessage::UnixRequest(UnixRequest {
        state_flags: UnixStates::ESTABLISHED,
        inode: 0,
        show_flags: ShowFlags::PEER,
        // No certain socket.
        cookie: [0xff; 8],
    });
    dump(netlink, request, |answer| {
        if let SockDiagMessage::UnixResponse(response) = answer {
            let peer = response.nlas.iter().find_map(|nla| match nla {
                Nla::Peer(inode) => Some(u64::from(*inode)),
                _ => None,
            });
            if let Some(peer) = peer {
                pairs.insert(response.header.inode.into(), peer);
            }
        }
    })
}

/// Sends a request for a list of sockets, and passes each answer on.
fn dump(
    netlink: &Netlink,
    request: SockDiagMessage,
    mut each: impl FnMut(SockDiagMessage),
) -> io::Result<()> {
    let mut request = NetlinkMessage::from(request);
    request.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    netlink.send(&bytes, 0)?;
    loop {
        let (answer, _) = netlink.recv_from_full()?;
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            // Messages begin at multiples of four.
            let length = (message.header.length as usize).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
            let NetlinkPayload::InnerMessage(answer) = message.payload else { return Ok(()) };
            each(answer);
        }
    }
}

/// The state of a socket that listens, from the kernel's `tcp_states.h`.
const LISTEN: u8 = 10;

/// The descriptors of a process.
#[derive(Default)]
pub struct Descriptors {
    /// The socket of a descriptor.
    pub sockets: HashMap<i32, u64>,
    /// The descriptors of epoll instances.
    pub epolls: HashSet<i32>,
}

impl Descriptors {
    /// The descriptors of a process; none if they can't be read.
    pub fn of(pid: u32) -> Descriptors {
        let mut found = Descriptors::default();
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let (Some(number), Ok(target)) = (number, fs::read_link(entry.path())) else {
                continue;
            };
            let target = target.to_string_lossy();
            let socket = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            if let Some(inode) = socket.and_then(|inode| inode.parse().ok()) {
                found.sockets.insert(number, inode);
            } else if target == "anon_inode:[eventpoll]" {
                found.epolls.insert(number);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::process::id;

    use super::*;

    #[test]
    fn bytes_and_connections_that_wait_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("it connects");
        let find = |listens| {
            let all = Tables::default().sockets(&BTreeSet::from([id()]));
            let found = all.iter().find(|s| s.listens == listens && s.port == port);
            *found.unwrap_or_else(|| panic!("{all:?}"))
        };
        let waiting = find(true);
        assert_eq!(waiting.unread, 1, "a connection");
        let (server, _) = listener.accept().expect("a connection");
        client.write_all(b"seven b").expect("there is room");
        let unread = find(false);
        assert_eq!(unread.unread, 7);
        let descriptors = Descriptors::of(id());
        assert_eq!(descriptors.sockets[&server.as_raw_fd()], unread.inode);
        assert_eq!(descriptors.sockets[&listener.as_raw_fd()], waiting.inode);
    }
}
