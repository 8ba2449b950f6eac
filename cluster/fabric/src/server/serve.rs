//! The serving side: a thread that handles the requests of all connections one after another.
//!
//! The thread sleeps until something arrives. But no event tells it that memory has changed. So
//! while a request waits for a change of memory, the thread polls. At first it yields between two
//! polls, and later it sleeps for [`NAP`].

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::{Ipv6Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;

use super::card::Card;
use super::frames::{HELLO, Inbox, LONGEST, Outbox, prepare};
use crate::signals::without_signals;

/// After this many polls without a result, the thread sleeps between two polls.
const LOOKS: u32 = 64;
/// The duration of one sleep.
const NAP: Duration = Duration::from_micros(50);
/// The stack size of the thread in bytes.
const STACK: usize = 512 * 1024;

/// What a server does with messages. All these functions are called in the server's thread.
pub trait Service {
    /// Called when a message has arrived. If its number is not 0, it must be answered under this
    /// number, now or later.
    fn asked(&mut self, from: Peer, number: u64, bytes: &[u8], answers: &mut Answers);

    /// Called when a caller has ended, can't be reached any more, or has sent something that is not
    /// a message. Nothing more is received from it.
    fn left(&mut self, peer: Peer);

    /// Continues the requests that wait for a change of memory. Returns whether any of them still
    /// wait.
    fn go_on(&mut self, answers: &mut Answers) -> bool;
}

/// The number of a connection. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(u64);

/// The answers that the server has to send.
#[derive(Debug, Default)]
pub struct Answers(Vec<(Peer, u64, Vec<u8>)>);

impl Answers {
    /// Answers the message with this number. Has no effect if the number is 0 or the caller is
    /// gone.
    pub fn give(&mut self, to: Peer, number: u64, bytes: &[u8]) {
        if number != 0 {
            self.0.push((to, number, bytes.to_vec()));
        }
    }
}

/// Starts a server in its own thread, which runs until the process ends. `make` makes the service,
/// in that thread. The returned card tells other processes, on this machine or another one, how to
/// reach the server.
///
/// # Errors
///
/// If the system refuses something that a server needs, such as a port or a thread.
pub fn serve<S: Service>(make: impl FnOnce() -> S + Send + 'static) -> io::Result<Card> {
    let listener = listen()?;
    listener.set_nonblocking(true)?;
    let card = Card::new(listener.local_addr()?.port())?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(0), EventFlags::IN)?;
    let server = Server {
        epoll,
        listener,
        token: card.token(),
        peers: BTreeMap::new(),
        next: 1,
        full: false,
    };
    let spawn = || {
        let builder = thread::Builder::new().name("syncline-server".to_owned());
        builder.stack_size(STACK).spawn(move || server.run(make()))
    };
    without_signals(spawn)?;
    Ok(card)
}

/// Listens at all addresses of this machine, at a port that the system chooses. Uses IPv6 and IPv4, or
/// only IPv4 if the machine has no IPv6.
pub(crate) fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).or_else(|_| TcpListener::bind("0.0.0.0:0"))
}

struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    token: u128,
    peers: BTreeMap<u64, Connection>,
    next: u64,
    /// Whether a part of an answer is still to be written.
    full: bool,
}

struct Connection {
    stream: TcpStream,
    inbox: Inbox,
    outbox: Outbox,
    /// Whether the caller has sent the right token.
    known: bool,
}

impl Server {
    fn run(mut self, mut service: impl Service) {
        let mut answers = Answers::default();
        let (mut waits, mut looks) = (false, 0);
        loop {
            let came = self.wait(waits, looks);
            for number in &came {
                if *number == 0 {
                    self.accept();
                } else {
                    self.hear(*number, &mut service, &mut answers);
                }
            }
            looks = if came.is_empty() { looks.saturating_add(1) } else { 0 };
            waits = service.go_on(&mut answers);
            if !answers.0.is_empty() {
                looks = 0;
            }
            self.send(&mut answers);
        }
    }

    /// Waits, and returns the connections from which something has arrived; 0 stands for a new
    /// connection.
    fn wait(&self, waits: bool, looks: u32) -> Vec<u64> {
        let now = Some(&Timespec { tv_sec: 0, tv_nsec: 0 });
        let nap = Timespec { tv_sec: 0, tv_nsec: NAP.as_nanos() as _ };
        if waits && looks < LOOKS {
            thread::yield_now();
        } else if waits || self.full {
            // An error is ignored here, because the call below asks for events again.
            let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&nap));
        }
        let mut events = [const { MaybeUninit::uninit() }; 64];
        let limit = if waits || self.full { now } else { None };
        match epoll::wait(&self.epoll, &mut events, limit) {
            Ok((events, _)) => events.iter().map(|event| event.data.u64()).collect(),
            Err(_) => Vec::new(),
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let number = self.next;
                    let data = EventData::new_u64(number);
                    if prepare(&stream).is_ok()
                        && stream.set_nonblocking(true).is_ok()
                        && epoll::add(&self.epoll, &stream, data, EventFlags::IN).is_ok()
                    {
                        self.next += 1;
                        let (inbox, outbox) = Default::default();
                        let connection = Connection { stream, inbox, outbox, known: false };
                        self.peers.insert(number, connection);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // Perhaps no file descriptor is free; callers have to wait until one is.
                    thread::sleep(Duration::from_millis(1));
                    return;
                }
            }
        }
    }

    /// Handles the bytes that have arrived from a caller.
    fn hear(&mut self, number: u64, service: &mut impl Service, answers: &mut Answers) {
        let Some(connection) = self.peers.get_mut(&number) else { return };
        let peer = Peer(number);
        let open = connection.inbox.fill(&connection.stream).unwrap_or(false);
        let mut is_sound = true;
        loop {
            let longest = if connection.known { LONGEST } else { HELLO };
            match connection.inbox.next(longest) {
                Ok(Some((message, bytes))) if connection.known => {
                    service.asked(peer, message, bytes, answers);
                }
                Ok(Some((message, bytes))) => {
                    connection.known = bytes == self.token.to_le_bytes();
                    if !connection.known {
                        is_sound = false;
                        break;
                    }
                    answers.give(peer, message, &[]);
                }
                Ok(None) => break,
                Err(_) => {
                    is_sound = false;
                    break;
                }
            }
        }
        if !open || !is_sound {
            self.close(number, service);
        }
    }

    fn close(&mut self, number: u64, service: &mut impl Service) {
        if let Some(connection) = self.peers.remove(&number)
            && connection.known
        {
            service.left(Peer(number));
        }
    }

    fn send(&mut self, answers: &mut Answers) {
        for (peer, number, bytes) in answers.0.drain(..) {
            if let Some(connection) = self.peers.get_mut(&peer.0) {
                connection.outbox.push(number, &bytes);
                self.full = true;
            }
        }
        if self.full {
            self.full = false;
            for connection in self.peers.values_mut() {
                // An error is ignored here: if the caller is gone, the next read notices it.
                let _ = connection.outbox.drain(&connection.stream);
                self.full |= !connection.outbox.is_empty();
            }
        }
    }
}
