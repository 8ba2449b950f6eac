//! The engine of lock servers: TM2C, with messages between transactions and servers.
//!
//! A transaction asks a [server](Server) for each cell that it reads and, when it commits, for each
//! cell that it writes. The cell's number determines the server. Cells are numbered in the order in
//! which they are made, so the server is the same in every run. Servers know which client reads
//! which cell, so they see each conflict when it arises, and resolve it ([FairCM](super::holds)).
//! In a transaction, the threads of the program share only the values, a status word for each
//! client and the list of sleepers; everything else is sent in messages. This engine is meant for
//! machines whose caches are not coherent or where sharing is expensive, and later for several
//! machines.
//!
//! An attempt that was aborted may still run, while the cell that was taken from it is written. So
//! an attempt checks its status after each read, before it returns the value: if another thread had
//! written one of its cells, the status would say that the attempt is aborted.
//!
//! When not to use it: on a cache-coherent machine a round trip for each cell costs more than all
//! of [`Shared`](super::Shared)'s work.
//!
//! Source: Gramoli, Guerraoui and Trigonakis, "TM2C: a Software Transactional Memory for
//! Many-Cores", EuroSys 2012; SSYNC (SOSP'13), section 4.3.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem::take;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::engine::{Engine, STAMPS, foreign, new_range};
use super::guarded::Guarded;
use super::holds::Holder;
use super::server::{Answers, COMMITS, RUNNING, Request, Requests, Server, Statuses, status};
use super::sleepers::Sleepers;
use super::stop::{Result, Stop};
use super::writes::Writes;
use crate::channel::{Inbox, Receiver, Sender, over};
use crate::lock::Mcs;
use crate::memory::{Long, LongMemory, Native, Padded};
use crate::wait::{Park, Wait};

/// The engine of lock servers.
///
/// ```
/// use std::thread;
/// use syncline::stm::{Engine, Served, Session};
///
/// let (engine, servers): (Served, _) = Served::new(2, 1);
/// thread::scope(|scope| {
///     for server in servers {
///         scope.spawn(|| server.serve());
///     }
///     let count = engine.cell(0_u32);
///     Session::new(&engine).atomically(|tx| {
///         let before = count.get(tx)?;
///         count.set(tx, before + 1);
///         Ok(())
///     });
///     assert_eq!(count.into_inner(), 1);
///     engine.close();
/// });
/// ```
pub struct Served<W: Wait = Park, M: LongMemory = Native> {
    statuses: Statuses<M>,
    /// The clients that no session uses; `None` if the engine is closed.
    seats: Seats<W, M>,
    sleepers: Sleepers<W, M>,
    /// The stamp of the first cell.
    base: u64,
    /// The number of the next cell. Numbers wrap around; cells that share a number are held
    /// together, which does no harm.
    next: AtomicU64,
}

type Seats<W, M> = Guarded<Option<Vec<Client<W, M>>>, Mcs<W, M>>;

/// A session's channels to all servers.
struct Client<W: Wait, M: LongMemory> {
    number: usize,
    servers: Vec<Link<W, M>>,
    attempt: u64,
    /// The cost of the client's successful transactions so far, in accesses.
    spent: u64,
}

/// The channels to a server and back.
struct Link<W: Wait, M: LongMemory> {
    requests: Sender<Request, Requests<W, M>>,
    answers: Receiver<bool, Answers<W, M>>,
    /// Whether this attempt has sent the server a request.
    used: bool,
}

/// A thread's part of the engine.
pub struct Thread<W: Wait, M: LongMemory> {
    client: Option<Client<W, M>>,
    /// The stamps of all cells that were read.
    reads: Vec<NonNull<M::Long>>,
    failures: u32,
}

// SAFETY: the cells are shared by all threads, and used only during an attempt.
unsafe impl<W: Wait, M: LongMemory> Send for Thread<W, M> {}

impl<W: Wait, M: LongMemory> Served<W, M> {
    /// An engine for up to `sessions` sessions at a time, and its servers. Each server must run in
    /// a thread of its own; see [`Server::serve`]. TM2C has one server for every one to three
    /// clients.
    ///
    /// # Panics
    ///
    /// If the number of sessions or of servers is 0.
    pub fn new(sessions: usize, servers: usize) -> (Self, Vec<Server<W, M>>) {
        assert!(sessions > 0 && servers > 0, "an engine needs a session and a server at least");
        let statuses: Statuses<M> = (0..sessions).map(|_| Padded(M::Long::default())).collect();
        let mut servers: Vec<_> = (0..servers)
            .map(|_| Server {
                inbox: Inbox::over(sessions, 1),
                answers: Vec::new(),
                statuses: Arc::clone(&statuses),
            })
            .collect();
        let clients = (0..sessions).map(|number| Client {
            number,
            servers: servers.iter_mut().map(|server| Link::to(server, number)).collect(),
            attempt: 0,
            spent: 0,
        });
        let seats = Guarded::new(Some(clients.collect()));
        let (sleepers, base, next) = (Sleepers::new(), new_range(), AtomicU64::new(0));
        (Self { statuses, seats, sleepers, base, next }, servers)
    }

    /// Closes the engine: no new session can begin, and the servers end when the existing sessions
    /// have ended.
    pub fn close(&self) {
        // The clients are dropped outside of the lock.
        drop(self.seats.with(Option::take));
    }

    /// The number of a cell with this stamp.
    fn number(&self, stamp: u64) -> usize {
        stamp.wrapping_sub(self.base) as usize
    }

    fn holds_all(&self, client: &Client<W, M>) -> bool {
        // Acquire: pairs with the Release of the server that aborts.
        self.statuses[client.number].load(Acquire) == status(client.attempt, RUNNING)
    }

    /// Makes sure that the attempt can't be aborted any more. `false` if it was aborted before.
    fn keep_all(&self, client: &Client<W, M>) -> bool {
        let [running, commits] = [RUNNING, COMMITS].map(|state| status(client.attempt, state));
        // AcqRel: ordered with the servers' exchanges of this word.
        self.statuses[client.number].exchange(running, commits, AcqRel).is_ok()
    }
}

impl<W: Wait, M: LongMemory> Link<W, M> {
    fn to(server: &mut Server<W, M>, client: usize) -> Self {
        let (slot, requests) = server.inbox.connect().expect("there is a slot for each client");
        assert!(slot == client, "clients are in the order of their slots");
        let (outlet, answers) = over::<Answers<W, M>>(1);
        server.answers.push(outlet);
        Self { requests, answers, used: false }
    }
}

impl<W: Wait, M: LongMemory> Client<W, M> {
    /// Asks for the cell with this number.
    fn hold(&mut self, cell: usize, writes: bool) -> Result<()> {
        let Self { number: client, attempt, spent, .. } = *self;
        let server = cell % self.servers.len();
        let link = &mut self.servers[server];
        link.used = true;
        let who = Holder { client, attempt, spent };
        let sent = link.requests.send(Request::Hold { cell, writes, who }).is_ok();
        match sent.then(|| link.answers.recv()) {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(Stop::CONFLICT),
            _ => panic!("the lock server is gone: its thread must outlive the sessions"),
        }
    }

    /// Releases all cells that the client holds.
    fn release(&mut self) {
        for link in &mut self.servers {
            if take(&mut link.used) {
                // A server that was dropped holds nothing for this client.
                let _ = link.requests.send(Request::Release);
            }
        }
    }
}

impl<W: Wait, M: LongMemory> Thread<W, M> {
    fn client(&mut self) -> &mut Client<W, M> {
        self.client.as_mut().expect("a session has a client until it ends")
    }

    fn succeeded(&mut self, written: usize) {
        let cost = (self.reads.len() + written) as u64 + 1;
        self.failures = 0;
        let client = self.client();
        client.spent += cost;
        client.release();
    }
}

// SAFETY: only a cell's holders use its value, and the server's messages order each holder after
// the earlier ones. A commit that succeeds holds all cells that it has read or writes, from
// `keep_all` until it has written. Everything that an attempt has read was still held when the
// attempt found that it was not aborted.
unsafe impl<W: Wait, M: LongMemory> Engine for Served<W, M> {
    type Memory = M;
    type Thread = Thread<W, M>;

    /// Panics if the engine is closed, or has as many sessions already as it was made for.
    fn enter(&self) -> Thread<W, M> {
        let client = self.seats.with(|seats| seats.as_mut().and_then(Vec::pop));
        assert!(client.is_some(), "the engine is closed, or was made for fewer sessions");
        Thread { client, reads: Vec::new(), failures: 0 }
    }

    fn exit(&self, thread: &mut Thread<W, M>) {
        let client = thread.client.take();
        // A client that is not given back is dropped outside of the lock.
        drop(self.seats.with(|seats| match seats {
            Some(seats) => {
                seats.extend(client);
                None
            }
            None => client,
        }));
    }

    fn fresh_stamp(&self) -> u64 {
        // Relaxed: only the number counts.
        self.base + self.next.fetch_add(1, Relaxed) % STAMPS
    }

    fn owns(&self, stamp: u64) -> bool {
        stamp.wrapping_sub(self.base) < STAMPS
    }

    fn begin(&self, thread: &mut Thread<W, M>) {
        thread.reads.clear();
        let client = thread.client();
        client.attempt += 1;
        // Release: pairs with the Acquire of a server that finds the last attempt over.
        self.statuses[client.number].store(status(client.attempt, RUNNING), Release);
    }

    unsafe fn read<R>(
        &self,
        thread: &mut Thread<W, M>,
        at: NonNull<M::Long>,
        load: impl Fn() -> R,
    ) -> Result<R> {
        // SAFETY: our caller's promise.
        let stamp = unsafe { at.as_ref() }.load(Acquire);
        if !self.owns(stamp) {
            foreign();
        }
        thread.reads.push(at);
        let client = thread.client();
        client.hold(self.number(stamp), false)?;
        let value = load();
        if self.holds_all(client) { Ok(value) } else { Err(Stop::CONFLICT) }
    }

    fn commit(&self, thread: &mut Thread<W, M>, writes: &mut Writes<M>) -> Result<()> {
        let client = thread.client();
        for write in writes.entries() {
            // Relaxed: in this engine a cell's stamp never changes.
            client.hold(self.number(write.stamp().load(Relaxed)), true)?;
        }
        if !self.keep_all(client) {
            return Err(Stop::CONFLICT);
        }
        writes.install(|_| {});
        let written = writes.entries().len();
        // A thread that sleeps counted itself before it released the cells that we now hold.
        if written > 0 && self.sleepers.any() {
            self.sleepers.wake(|at| writes.find(at).is_some());
        }
        thread.succeeded(written);
        Ok(())
    }

    fn give_way(&self, thread: &mut Thread<W, M>) {
        thread.client().release();
        thread.failures += 1;
        W::pause::<M>(thread.failures);
    }

    fn wait_for_change(&self, thread: &mut Thread<W, M>) {
        assert!(!thread.reads.is_empty(), "retry without having read anything would wait forever");
        thread.failures = 0;
        let reads = take(&mut thread.reads);
        self.sleepers.sleep_while(&reads, || {
            let client = thread.client();
            let held = self.keep_all(client);
            // From here on other threads can write what we have read. A thread that does so sees
            // that we sleep.
            client.release();
            held
        });
        thread.reads = reads;
    }

    fn leave(&self, thread: &mut Thread<W, M>) {
        thread.failures = 0;
        thread.client().release();
    }
}

impl<W: Wait, M: LongMemory> fmt::Debug for Served<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("sessions", &self.statuses.len()).finish_non_exhaustive()
    }
}

impl<W: Wait, M: LongMemory> fmt::Debug for Thread<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}
