//! A rank of a job on one or more machines.

use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thiserror::Error as ThisError;

use super::link::{Gone, Link};
use super::map::{Map, NoMap};
use super::wire::{Call, LONGEST, Request, Role};
use crate::fabric::{Change, Dead, Fabric, Operation, Position, one_by_one};
use crate::heap::Heap;
use crate::here::{Entered, Here};
use crate::host::{self, Host};

/// The variable with the name of a file with the job's map, if it has several machines.
pub(super) const MAP: &str = "SYNCLINE_MACHINES";
/// The variable with this machine's number in the map.
pub(super) const MACHINE: &str = "SYNCLINE_MACHINE";

/// A waiter polls another machine's word this often before it rests between two polls.
const POLLS: u32 = 16;
/// The same for a word of this machine, if there are others: the agent may need the processor.
const POLLS_HERE: u32 = 64;
/// How long a waiter rests at first. The rests of a long wait get longer, up to [`LONGEST_REST`].
const REST: Duration = Duration::from_micros(50);
const LONGEST_REST: Duration = Duration::from_millis(1);
/// A rest gets longer by [`REST`] after this many polls.
const SAME_RESTS: u32 = 32;
/// A thread that sleeps for another machine's word returns after this time, since nothing wakes it;
/// or, if it has waited for long, after an eighth of the time for which it has waited, but not later
/// than [`LONGEST_SLEEP`].
const SLEEP: Duration = Duration::from_micros(200);
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// Why a process could not join as a rank.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The ranks of this machine can't be joined.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The environment does not say which machine this is.
    #[error("the environment does not say which machine of the job this is ({MACHINE})")]
    Machine,
    /// The map can't be read.
    #[error("the map of the job's machines can't be read: {0}")]
    Unreadable(io::Error),
    /// The map is not one.
    #[error(transparent)]
    NoMap(#[from] NoMap),
    /// Another machine can't be reached.
    #[error("the machine with rank {rank} can't be reached from here: {error}")]
    Unreachable {
        /// The first rank of the machine.
        rank: usize,
        /// Why not.
        error: io::Error,
    },
}

/// A rank of a job on one or more machines. Clones of this value are the same rank. Several threads
/// may use it, also in signal handlers.
#[derive(Clone)]
pub struct Machines {
    /// The ranks of this machine. It numbers them from 0.
    host: Host,
    /// This machine's first rank.
    first: usize,
    others: Option<Arc<Others>>,
}

/// The other machines.
struct Others {
    /// For each rank, its machine.
    machines: Vec<usize>,
    /// For each machine, its first rank.
    firsts: Vec<usize>,
    /// For each machine, the connection to it; `None` for this one.
    links: Vec<Option<Link>>,
}

thread_local! {
    static HERE: Entered<Machines> = const { Entered::new() };
}

impl From<Host> for Machines {
    /// A rank of a job on one machine.
    fn from(host: Host) -> Machines {
        Machines { host, first: 0, others: None }
    }
}

impl Machines {
    /// Joins as the rank that the environment says. Connects to all other machines.
    ///
    /// # Errors
    ///
    /// If this process was not started as a rank, or can't join, or a machine can't be reached.
    pub fn from_environment() -> Result<Machines, Error> {
        let Some(file) = env::var_os(MAP) else { return Ok(Host::from_environment()?.into()) };
        let own = env::var(MACHINE).ok().and_then(|own| own.parse::<usize>().ok());
        let map = Map::from_bytes(&std::fs::read(file).map_err(Error::Unreadable)?)?;
        let machines = map.machines();
        let own = own.filter(|own| *own < machines.len()).ok_or(Error::Machine)?;
        let host = Host::numbered_from(map.first(own))?;
        let firsts: Vec<usize> = (0..machines.len()).map(|number| map.first(number)).collect();
        let connect = |(number, rank): (usize, &usize)| {
            if number == own {
                return Ok(None);
            }
            let link = Link::connect(&machines[number].card, Role::Rank);
            link.map(Some).map_err(|error| Error::Unreachable { rank: *rank, error })
        };
        let links = firsts.iter().enumerate().map(connect).collect::<Result<_, _>>()?;
        let others = Others { machines: map.of_ranks(), firsts, links };
        Ok(Machines { host, first: others.firsts[own], others: Some(Arc::new(others)) })
    }

    /// Whether some ranks are on other machines than this one.
    pub fn has_several_machines(&self) -> bool {
        self.others.is_some()
    }

    /// Lets this thread use words and locks of [`Window`](crate::Window) as this rank, until the
    /// thread enters another rank. Lock nodes come from this heap.
    pub fn enter(&self, nodes: Heap) {
        HERE.with(|here| here.set(self.clone(), nodes));
    }

    /// Sleeps until a thread of any rank [wakes](Self::wake) this word's sleepers, or for this long.
    /// Returns at once if the low 32 bits of the word's value are not `value`. May also return
    /// early for no reason, and does so if the word is on another machine. `waited` is the time for
    /// which the caller has waited for the word already.
    pub fn sleep(&self, at: Position, value: u32, waited: Duration, most: Duration) {
        match self.way(at, 8) {
            Way::Here(at) => self.host.sleep(at, value, most),
            Way::There(..) => thread::sleep(most.min((waited / 8).clamp(SLEEP, LONGEST_SLEEP))),
        }
    }

    /// Wakes at most this many of the threads that sleep for a word, on the word's machine.
    pub fn wake(&self, at: Position, most: u32) {
        match self.way(at, 8) {
            Way::Here(at) => self.host.wake(at, most),
            // If the machine is gone, the next operation reports it.
            Way::There(link, at) => _ = link.ask_word(at.request(Call::Wake(most))),
        }
    }

    /// How to reach these bytes.
    #[inline]
    fn way(&self, at: Position, length: usize) -> Way<'_> {
        let number = at.rank.wrapping_sub(self.first);
        match &self.others {
            Some(others) if number >= self.host.ranks() => {
                let bytes = self.host.bytes();
                let fits = at.at <= bytes && length <= bytes - at.at;
                let known = at.rank < others.machines.len();
                assert!(known && fits, "{length} bytes at {at:?} are in no rank's part");
                others.way(at)
            }
            _ => Way::Here(Position { rank: number, at: at.at }),
        }
    }

    /// The request for an operation on another machine.
    fn request(&self, operation: &Operation<'_>) -> Request {
        let Way::There(_, place) = self.way(operation.position(), operation.bytes()) else {
            unreachable!("the caller has looked")
        };
        place.request(match operation {
            Operation::Get { into, .. } => Call::Get(into.len() as u32),
            Operation::Swap(swap) => Call::CompareAndSwap(swap.old, swap.new),
        })
    }

    /// The answer to a request about a word.
    #[inline]
    fn word(
        &self,
        at: Position,
        here: impl FnOnce(&Host, Position) -> Result<u64, Dead>,
        call: Call,
    ) -> Result<u64, Dead> {
        match self.way(at, 8) {
            Way::Here(at) => here(&self.host, at),
            Way::There(link, place) => {
                assert!(at.at.is_multiple_of(8), "{at:?} is not the position of a word");
                link.ask_word(place.request(call)).map_err(dead(at.rank))
            }
        }
    }
}

/// A way to memory.
enum Way<'a> {
    /// It is this machine's.
    Here(Position),
    /// It is reached over this connection.
    There(&'a Link, There),
}

/// A position on another machine, with the rank's number on that machine.
struct There(Position);

impl There {
    fn request(&self, call: Call) -> Request {
        Request { call, rank: self.0.rank, at: self.0.at }
    }
}

impl Others {
    fn way(&self, at: Position) -> Way<'_> {
        let machine = self.machines[at.rank];
        let link = self.links[machine].as_ref().expect("the rank is on another machine");
        Way::There(link, There(Position { rank: at.rank - self.firsts[machine], at: at.at }))
    }

    fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().flatten()
    }
}

/// Rests after this many polls.
fn rest_after(looks: u32) {
    thread::sleep((REST * (looks / SAME_RESTS + 1)).min(LONGEST_REST));
}

/// The error for a rank whose machine is gone.
fn dead(rank: usize) -> impl Fn(Gone) -> Dead {
    move |_: Gone| Dead { rank }
}

impl Fabric for Machines {
    #[inline]
    fn rank(&self) -> usize {
        self.first + self.host.rank()
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.others.as_ref().map_or(self.host.ranks(), |others| others.machines.len())
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.host.bytes()
    }

    #[inline]
    fn put(&self, to: Position, bytes: &[u8]) {
        match self.way(to, bytes.len()) {
            Way::Here(to) => self.host.put(to, bytes),
            Way::There(link, to) => link.put(to.0, bytes),
        }
    }

    #[inline]
    fn get(&self, from: Position, into: &mut [u8]) -> Result<(), Dead> {
        match self.way(from, into.len()) {
            Way::Here(from) => self.host.get(from, into),
            Way::There(link, place) => {
                for (number, piece) in into.chunks_mut(LONGEST).enumerate() {
                    let mut request = place.request(Call::Get(piece.len() as u32));
                    request.at += number * LONGEST;
                    link.ask(request, piece).map_err(dead(from.rank))?;
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn compare_and_swap(&self, at: Position, old: u64, new: u64) -> Result<u64, Dead> {
        let here = |host: &Host, at| host.compare_and_swap(at, old, new);
        self.word(at, here, Call::CompareAndSwap(old, new))
    }

    /// Takes one round trip if all operations are about one machine.
    fn perform(&self, operations: &mut [Operation<'_>]) -> Result<usize, Dead> {
        let machine = |operation: &Operation<'_>| self.machine(operation.position().rank);
        let [first, rest @ ..] = &*operations else { return Ok(0) };
        if rest.is_empty() || rest.iter().any(|other| machine(other) != machine(first)) {
            return one_by_one(self, operations);
        }
        let rank = first.position().rank;
        match self.way(Position { rank, at: 0 }, 0) {
            Way::Here(_) => one_by_one(self, operations),
            Way::There(link, _) => {
                let request = |operation: &Operation<'_>| self.request(operation);
                link.perform(operations, request).map_err(dead(rank))
            }
        }
    }

    #[inline]
    fn fetch_and(&self, at: Position, change: Change, operand: u64) -> Result<u64, Dead> {
        let here = |host: &Host, at| host.fetch_and(at, change, operand);
        self.word(at, here, Call::FetchAnd(change, operand))
    }

    #[inline]
    fn flush(&self, rank: usize) -> Result<(), Dead> {
        match self.way(Position { rank, at: 0 }, 0) {
            Way::Here(_) => self.host.flush_all(),
            Way::There(link, _) => link.flush().map_err(dead(rank))?,
        }
        Ok(())
    }

    #[inline]
    fn flush_all(&self) {
        self.host.flush_all();
        if let Some(others) = &self.others {
            // Dead machines are not reported.
            others.links().for_each(|link| _ = link.flush());
        }
    }

    /// Between two polls of another machine's word there is a round trip over the network, in which
    /// this thread sleeps. A wait that gets long also rests.
    #[inline]
    fn pause(&self, at: Position, looks: u32) {
        match self.way(at, 0) {
            Way::Here(_) if self.others.is_some() && looks > POLLS_HERE => rest_after(looks),
            Way::Here(at) => self.host.pause(at, looks),
            Way::There(..) if looks > POLLS => rest_after(looks),
            Way::There(..) => {}
        }
    }

    fn rest(&self, time: Duration) {
        self.host.rest(time);
    }

    /// Asks the rank's machine. A rank that has not joined yet counts as alive; no rank lives on a
    /// machine that can't be reached any more.
    fn is_alive(&self, rank: usize) -> bool {
        match self.way(Position { rank, at: 0 }, 0) {
            Way::Here(at) => self.host.is_alive(at.rank),
            Way::There(link, place) => {
                link.ask_word(place.request(Call::Lives)).is_ok_and(|lives| lives != 0)
            }
        }
    }

    fn machine(&self, rank: usize) -> usize {
        self.others.as_ref().map_or(0, |others| others.machines[rank])
    }

    fn now(&self) -> Duration {
        self.host.now()
    }
}

impl Here for Machines {
    fn here<R>(then: impl FnOnce(&Machines) -> R) -> R {
        HERE.with(|here| here.with(then))
    }

    fn nodes(&self) -> Heap {
        HERE.with(Entered::nodes)
    }
}

impl fmt::Debug for Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, ranks) = (self.rank(), self.ranks());
        f.debug_struct("Machines").field("rank", &rank).field("ranks", &ranks).finish()
    }
}
