//! The calling side: a connection to another machine's agent. All threads of this process share it.
//!
//! A rank calls this in its handler of page faults. So nothing here allocates once a connection is
//! made, and no signal handler runs in a thread that uses the connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use syncline::Mutex;
use syncline::lock::Futex;

use super::poll::read;
use super::wire::{Call, LENGTH, LONGEST, MAGIC, REQUEST, RUN, RUNS, Request, Role, hello, run};
use crate::fabric::{Operation, Position};
use crate::server::{Card, prepare};
use crate::signals::without_signals;

/// How long connecting to an address may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the answer to a hello may take: an agent makes its ranks' parts first.
const READY: Duration = Duration::from_secs(60);

/// The error when the machine at the other end can't be reached any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// A connection to a machine's agent.
#[derive(Debug)]
pub struct Link(Mutex<Ends, Futex>);

#[derive(Debug)]
struct Ends {
    stream: TcpStream,
    /// Requests that are not sent yet. Its capacity never changes.
    outbox: Vec<u8>,
    /// The last request of the outbox, if it can get another run.
    open: Option<Open>,
    /// Whether something was put since the last flush.
    has_put: bool,
    gone: bool,
}

/// A request with runs that is not sent yet.
#[derive(Debug)]
struct Open {
    /// Where it begins in the outbox.
    begin: usize,
    /// The rank in whose part the runs are.
    rank: usize,
    /// Where the last run ends in the rank's part.
    end: usize,
}

impl Link {
    /// Connects to the agent with this card.
    ///
    /// # Errors
    ///
    /// If the agent does not answer at any of its addresses.
    pub fn connect(card: &Card, role: Role) -> io::Result<Link> {
        card.reach(|place| connect_at(place, card, role)).map(Link::over)
    }

    fn over(stream: TcpStream) -> Link {
        let outbox = Vec::with_capacity(RUNS);
        let ends = Ends { stream, outbox, open: None, has_put: false, gone: false };
        Link(Mutex::from_raw(Futex::default(), ends))
    }

    /// Sends a request, and waits for its answer, which has as many bytes as `answer`.
    pub fn ask(&self, request: Request, answer: &mut [u8]) -> Result<(), Gone> {
        self.with(|ends| {
            ends.push(request)?;
            ends.send()?;
            read(&ends.stream, answer)
        })
    }

    /// Performs operations in one round trip, up to the first swap that fails. `request` makes
    /// the requests for them. Returns how many were performed.
    pub fn perform(
        &self,
        operations: &mut [Operation<'_>],
        request: impl Fn(&Operation<'_>) -> Request,
    ) -> Result<usize, Gone> {
        self.with(|ends| {
            let chain = Call::Chain(operations.len() as u32);
            ends.push(Request { call: chain, rank: 0, at: 0 })?;
            operations.iter().map(request).try_for_each(|request| ends.push(request))?;
            ends.send()?;
            for (number, operation) in operations.iter_mut().enumerate() {
                match operation {
                    Operation::Get { into, .. } => read(&ends.stream, into)?,
                    Operation::Swap(swap) => {
                        let mut word = [0; 8];
                        read(&ends.stream, &mut word)?;
                        swap.found = u64::from_le_bytes(word);
                        if swap.has_failed() {
                            return Ok(number + 1);
                        }
                    }
                }
            }
            Ok(operations.len())
        })
    }

    /// Sends a request, and waits for its answer, which is a word.
    pub fn ask_word(&self, request: Request) -> Result<u64, Gone> {
        let mut answer = [0; 8];
        self.ask(request, &mut answer).map(|()| u64::from_le_bytes(answer))
    }

    /// Puts bytes. [`flush`](Self::flush) reports an error.
    pub fn put(&self, to: Position, bytes: &[u8]) {
        let _ = self.with(|ends| {
            ends.has_put = true;
            match ends.add_run(to, bytes)? {
                true => Ok(()),
                false => ends.put(to, bytes),
            }
        });
    }

    /// Waits until everything that was put has taken effect.
    pub fn flush(&self) -> Result<(), Gone> {
        self.with(|ends| {
            if ends.has_put {
                ends.push(Request { call: Call::Flush, rank: 0, at: 0 })?;
                ends.send()?;
                read(&ends.stream, &mut [0; 8])?;
                ends.has_put = false;
            }
            Ok(())
        })
    }

    /// Runs this with the connection. After an error, the connection can't be used any more.
    fn with<R>(&self, act: impl FnOnce(&mut Ends) -> io::Result<R>) -> Result<R, Gone> {
        without_signals(|| {
            self.0.with(|ends| {
                if ends.gone {
                    return Err(Gone);
                }
                act(ends).map_err(|_| {
                    ends.gone = true;
                    Gone
                })
            })
        })
    }
}

impl Ends {
    /// Collects a request.
    fn push(&mut self, request: Request) -> io::Result<()> {
        self.make_room(REQUEST)?;
        self.outbox.extend_from_slice(&request.to_bytes());
        self.open = None;
        Ok(())
    }

    /// Puts bytes, in requests of their own.
    fn put(&mut self, mut to: Position, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(LONGEST) {
            let call = Call::Put(piece.len() as u32);
            self.push(Request { call, rank: to.rank, at: to.at })?;
            self.send()?;
            self.stream.write_all(piece)?;
            to.at += piece.len();
        }
        Ok(())
    }

    /// Puts bytes as a run of the last request, or of a new one. Returns false if they are too many
    /// for a run.
    fn add_run(&mut self, to: Position, bytes: &[u8]) -> io::Result<bool> {
        if bytes.len() > RUNS - REQUEST - RUN {
            return Ok(false);
        }
        self.make_room(REQUEST + RUN + bytes.len())?;
        let distance = self.open.as_ref().and_then(|open| {
            let distance = to.at.checked_sub(open.end).filter(|_| open.rank == to.rank)?;
            run(distance, bytes.len())
        });
        let Some(head) = distance.or_else(|| run(0, bytes.len())) else { return Ok(false) };
        let begin = match (&self.open, distance) {
            (Some(open), Some(_)) => open.begin,
            _ => {
                let begin = self.outbox.len();
                self.push(Request { call: Call::Runs(0), rank: to.rank, at: to.at })?;
                begin
            }
        };
        self.outbox.extend_from_slice(&head);
        self.outbox.extend_from_slice(bytes);
        let length = (self.outbox.len() - begin - REQUEST) as u32;
        self.outbox[begin + LENGTH..][..4].copy_from_slice(&length.to_le_bytes());
        self.open = Some(Open { begin, rank: to.rank, end: to.at + bytes.len() });
        Ok(true)
    }

    /// Makes room for this many bytes in the outbox.
    fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        if self.outbox.len() + bytes > RUNS { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.outbox)?;
        self.outbox.clear();
        self.open = None;
        Ok(())
    }
}

fn connect_at(place: SocketAddr, card: &Card, role: Role) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    prepare(&stream)?;
    stream.write_all(&hello(card.token(), role))?;
    stream.set_read_timeout(Some(READY))?;
    let mut answer = [0; MAGIC.len()];
    stream.read_exact(&mut answer)?;
    if answer != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    stream.set_read_timeout(None)?;
    Ok(stream)
}
