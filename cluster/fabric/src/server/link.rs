//! The calling side: one connection to the server of another process. All threads of this process
//! share it.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::card::Card;
use super::frames::{Inbox, LONGEST, Outbox, prepare};

/// How long each step of connecting may take. The steps are the connection to an address, and the
/// answer to the token.
const PATIENCE: Duration = Duration::from_secs(5);

/// The error when the process at the other end has ended or can't be reached any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the process at the other end has ended, or can't be reached any more")]
pub struct Gone;

/// A connection to a server.
#[derive(Debug)]
pub struct Link(Mutex<Ends>);

#[derive(Debug)]
struct Ends {
    stream: TcpStream,
    inbox: Inbox,
    outbox: Outbox,
    /// Answers for other threads, which arrived while a thread polled for its own.
    answers: HashMap<u64, Vec<u8>>,
    asked: u64,
    gone: bool,
}

impl Link {
    /// Connects to the server with this card.
    ///
    /// # Errors
    ///
    /// If the server does not answer at any of its addresses.
    pub fn connect(card: &Card) -> io::Result<Link> {
        card.reach(|place| Link::connect_at(place, card))
    }

    fn connect_at(place: SocketAddr, card: &Card) -> io::Result<Link> {
        let stream = TcpStream::connect_timeout(&place, PATIENCE)?;
        prepare(&stream)?;
        stream.set_nonblocking(true)?;
        let (inbox, outbox) = Default::default();
        let ends = Ends { stream, inbox, outbox, answers: HashMap::new(), asked: 0, gone: false };
        let link = Link(Mutex::new(ends));
        // The token comes first, since the server answers only callers that know it.
        let hello =
            link.ask(&card.token().to_le_bytes()).map_err(|_| ErrorKind::ConnectionReset)?;
        let start = Instant::now();
        loop {
            match link.answer(hello) {
                Ok(Some(_)) => return Ok(link),
                Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_micros(50)),
                Ok(None) => return Err(ErrorKind::TimedOut.into()),
                Err(Gone) => return Err(ErrorKind::ConnectionReset.into()),
            }
        }
    }

    /// Sends a message that gets no answer.
    ///
    /// # Errors
    ///
    /// If the other end is known to be gone. Success does not mean that the message arrived.
    pub fn tell(&self, bytes: &[u8]) -> Result<(), Gone> {
        self.ends().send(0, bytes)
    }

    /// Sends a request. Pass the returned number to [`answer`](Self::answer).
    ///
    /// # Errors
    ///
    /// If the other end is known to be gone.
    pub fn ask(&self, bytes: &[u8]) -> Result<u64, Gone> {
        let mut ends = self.ends();
        ends.asked += 1;
        let number = ends.asked;
        ends.send(number, bytes)?;
        Ok(number)
    }

    /// Polls for the answer to a request. Returns `None` if the answer has not arrived yet. Each
    /// answer is returned only once.
    ///
    /// # Errors
    ///
    /// If the other end is gone, and the answer had not arrived before.
    pub fn answer(&self, number: u64) -> Result<Option<Vec<u8>>, Gone> {
        let mut ends = self.ends();
        let found = ends.answers.remove(&number);
        if found.is_some() {
            return Ok(found);
        }
        ends.receive();
        match ends.answers.remove(&number) {
            None if ends.gone => Err(Gone),
            found => Ok(found),
        }
    }

    /// Sends a request and waits for the answer. Between two polls for the answer it calls `pause`
    /// with the number of polls so far.
    ///
    /// # Errors
    ///
    /// If the other end is gone.
    pub fn call(&self, bytes: &[u8], mut pause: impl FnMut(u32)) -> Result<Vec<u8>, Gone> {
        let number = self.ask(bytes)?;
        let mut looks = 0u32;
        loop {
            if let Some(answer) = self.answer(number)? {
                return Ok(answer);
            }
            looks = looks.saturating_add(1);
            pause(looks);
        }
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ends {
    fn send(&mut self, number: u64, bytes: &[u8]) -> Result<(), Gone> {
        self.outbox.push(number, bytes);
        // Bytes that can't be sent now exceed the kernel's buffer. The server makes room as it
        // reads.
        while !self.gone && !self.outbox.is_empty() {
            self.gone = self.outbox.drain(&self.stream).is_err();
            if !self.outbox.is_empty() {
                self.receive();
                thread::yield_now();
            }
        }
        if self.gone { Err(Gone) } else { Ok(()) }
    }

    fn receive(&mut self) {
        if self.gone {
            return;
        }
        let open = self.inbox.fill(&self.stream).unwrap_or(false);
        loop {
            match self.inbox.next(LONGEST) {
                Ok(Some((number, bytes))) => {
                    self.answers.insert(number, bytes.to_vec());
                }
                Ok(None) => break,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
        self.gone = !open;
    }
}
