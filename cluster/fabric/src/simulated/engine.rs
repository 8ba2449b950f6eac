//! The engine of a simulation: it handles events in the order of simulated time. An operation takes
//! the following steps. The parentheses name what delays a step: ports, and the way between the
//! ranks.
//!
//! ```text
//!   issue --(port, way)--> Arrive --(port)--> Effect, for each piece --(port, way)--> Done --> the rank
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use corosensei::Yielder;

use super::network::Network;
use super::operation::{Kind, Operation};
use super::simulation::Simulation;
use crate::fabric::Dead;
use crate::heap::Heap;

/// The unit of a waiter's pauses in nanoseconds, and how often it doubles at most. A poll of
/// another rank's word occupies a port, so waiters poll it rarely but steadily. For a word in the
/// waiter's own part the pauses grow longer, since a change of the part ends the pause.
const PAUSE: u64 = 500;
const DOUBLINGS: u32 = 6;
const OWN_DOUBLINGS: u32 = 12;
/// The nanoseconds between two checks whether a dead rank still has operations on their way.
const AGAIN: u64 = 10_000;

/// What happens to the running rank after a request.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// The rank continues.
    GoOn,
    /// The rank is suspended, and other ranks run until it is resumed.
    Suspend(*const Yielder<(), ()>),
}

/// A running simulation.
pub(super) struct Engine {
    pub ranks: Vec<Rank>,
    pub bytes: usize,
    pub network: Network,
    /// The simulated time in nanoseconds.
    pub now: u64,
    /// The number of the running rank.
    pub current: usize,
    limit: u64,
    random: fastrand::Rng,
    events: BinaryHeap<Reverse<Event>>,
    /// The number of events that were planned so far. Of simultaneous events, the one that was
    /// planned first comes first.
    planned: u64,
    operations: Vec<Option<Operation>>,
    vacant: Vec<usize>,
    /// The number of operations that were begun.
    pub issued: u64,
}

/// The state of a rank.
pub(super) struct Rank {
    /// The means to suspend the rank; null before the rank has begun.
    pub yielder: *const Yielder<(), ()>,
    part: Vec<u64>,
    /// The heap from which the rank's lock nodes come.
    pub nodes: Option<Heap>,
    /// How often the rank was resumed. If this has changed since an event was planned that would
    /// resume the rank, the event is obsolete.
    resumed: u64,
    /// The times from which the rank's port is free for outgoing and for incoming operations.
    leaves_at: u64,
    comes_at: u64,
    result: Option<Result<(u64, Vec<u8>), Dead>>,
    /// The number of incomplete puts to each target that has any.
    puts: Vec<(usize, usize)>,
    /// The target whose puts the rank waits for; `Some(None)` stands for all targets.
    flushes: Option<Option<usize>>,
    /// The targets at which puts of the rank were lost.
    lost: Vec<usize>,
    /// Whether a change of the rank's part resumes it.
    watches: bool,
    /// The number of operations that the rank has begun, the number of those that are incomplete,
    /// and the number of operations at which the rank dies.
    begun: u64,
    on_the_way: usize,
    dies_at: u64,
    pub dead: bool,
    /// Whether the other ranks know of the rank's death.
    pub known_dead: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: u64,
    order: u64,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Resumes a rank, unless the rank was resumed since this event was planned. The number says
    /// how often the rank had been resumed when the event was planned.
    Resume(usize, u64),
    /// An operation arrives at its target.
    Arrive(usize),
    /// A piece of an operation takes effect on its target's part.
    Effect(usize, usize),
    /// The rank that began an operation learns that it is complete.
    Done(usize),
    /// All ranks learn of a rank's death. If operations of the dead rank are still on their way,
    /// this is tried again later.
    Known(usize),
}

impl Rank {
    fn new(words: usize, dies_at: u64) -> Rank {
        Rank {
            yielder: std::ptr::null(),
            part: vec![0; words],
            nodes: None,
            resumed: 0,
            leaves_at: 0,
            comes_at: 0,
            result: None,
            puts: Vec::new(),
            flushes: None,
            lost: Vec::new(),
            watches: false,
            begun: 0,
            on_the_way: 0,
            dies_at,
            dead: false,
            known_dead: false,
        }
    }

    /// Takes the result of the operation that the rank has waited for.
    pub(super) fn take_result(&mut self) -> Result<(u64, Vec<u8>), Dead> {
        self.result.take().expect("an operation is over when its rank goes on")
    }

    /// The result of a flush: an error if a put to the target was lost.
    pub(super) fn flushed(&self, rank: usize) -> Result<(), Dead> {
        if self.lost.contains(&rank) { Err(Dead { rank }) } else { Ok(()) }
    }

    fn waits_for_puts(&self) -> bool {
        match self.flushes {
            Some(Some(target)) => self.puts.iter().any(|(to, _)| *to == target),
            Some(None) => !self.puts.is_empty(),
            None => false,
        }
    }
}

impl Engine {
    pub(super) fn new(simulation: &Simulation) -> Engine {
        let dies_at = |rank| {
            let of = simulation.deaths.iter().filter(|death| death.0 == rank);
            of.map(|death| death.1.max(1)).min().unwrap_or(u64::MAX)
        };
        let rank = |rank| Rank::new(simulation.bytes / 8, dies_at(rank));
        Engine {
            ranks: (0..simulation.ranks).map(rank).collect(),
            bytes: simulation.bytes,
            network: simulation.network.clone(),
            now: 0,
            current: 0,
            limit: simulation.limit.as_nanos() as u64,
            random: fastrand::Rng::with_seed(simulation.seed),
            events: BinaryHeap::new(),
            planned: 0,
            operations: Vec::new(),
            vacant: Vec::new(),
            issued: 0,
        }
    }

    /// Plans the start of each rank at a random time.
    pub(super) fn begin(&mut self) {
        for rank in 0..self.ranks.len() {
            let at = self.random.u64(0..=self.network.delay);
            self.plan(at, What::Resume(rank, 0));
        }
    }

    /// Handles events until one of them lets a rank continue, and returns this rank.
    pub(super) fn next(&mut self) -> usize {
        loop {
            let event = self.events.pop();
            let Reverse(event) = event.expect("all ranks wait, and nothing is on its way");
            self.now = event.at;
            if self.now > self.limit {
                panic!("ranks still wait after {} ns, the limit of the simulation", self.limit);
            }
            match event.what {
                What::Resume(rank, resumed) => {
                    let state = &mut self.ranks[rank];
                    if !state.dead && state.resumed == resumed {
                        state.resumed += 1;
                        (state.watches, state.flushes) = (false, None);
                        self.current = rank;
                        return rank;
                    }
                }
                What::Arrive(operation) => self.arrive(operation),
                What::Effect(operation, piece) => self.take_effect(operation, piece),
                What::Done(operation) => self.complete(operation),
                What::Known(rank) if self.ranks[rank].on_the_way == 0 => {
                    self.ranks[rank].known_dead = true;
                }
                What::Known(rank) => self.plan(self.now + AGAIN, What::Known(rank)),
            }
        }
    }

    fn plan(&mut self, at: u64, what: What) {
        self.planned += 1;
        self.events.push(Reverse(Event { at, order: self.planned, what }));
    }

    fn resume(&mut self, rank: usize, at: u64) {
        let resumed = self.ranks[rank].resumed;
        self.plan(at, What::Resume(rank, resumed));
    }

    fn suspend(&self, rank: usize) -> Then {
        Then::Suspend(self.ranks[rank].yielder)
    }

    /// Begins an operation of a rank. The rank waits for the result, unless the operation is a put.
    pub(super) fn issue(&mut self, operation: Operation) -> Then {
        let (origin, target) = (operation.origin, operation.at.rank);
        let waits = !matches!(operation.kind, Kind::Put);
        let transfer = self.network.transfer(operation.request());
        self.issued += 1;
        let rank = &mut self.ranks[origin];
        rank.begun += 1;
        rank.on_the_way += 1;
        if !waits {
            match rank.puts.iter_mut().find(|(to, _)| *to == target) {
                Some((_, count)) => *count += 1,
                None => rank.puts.push((target, 1)),
            }
        }
        let arrives = if origin == target {
            // A put to the rank's own part may be delayed as well.
            let late = if waits { 0 } else { self.network.delay };
            self.now + self.network.own + self.random.u64(0..=late)
        } else {
            rank.leaves_at = rank.leaves_at.max(self.now) + transfer;
            rank.leaves_at + self.network.way(origin, target, &mut self.random)
        };
        let dies = rank_dies(&mut self.ranks[origin]);
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.operations.push(None);
            self.operations.len() - 1
        });
        self.operations[number] = Some(operation);
        self.plan(arrives, What::Arrive(number));
        if dies {
            self.plan(self.now + AGAIN, What::Known(origin));
        }
        if waits || dies { self.suspend(origin) } else { Then::GoOn }
    }

    fn operation(&mut self, number: usize) -> &mut Operation {
        self.operations[number].as_mut().expect("an operation stays until it is complete")
    }

    fn arrive(&mut self, number: usize) {
        let operation = self.operation(number);
        let (origin, target, request) = (operation.origin, operation.at.rank, operation.request());
        if self.ranks[target].dead {
            self.operation(number).failed = true;
            return self.answer(number);
        }
        // An operation of a dead rank may be lost on the way.
        if self.ranks[origin].dead && self.random.bool() {
            return self.complete(number);
        }
        let mut served = self.now;
        if origin != target {
            served = served.max(self.ranks[target].comes_at) + self.network.transfer(request);
            self.ranks[target].comes_at = served;
        }
        let mut random = self.random.fork();
        let pieces = self.operation(number).break_up(&mut random);
        for piece in 0..pieces {
            let late = if pieces == 1 { 0 } else { random.u64(0..=self.network.tear) };
            self.plan(served + late, What::Effect(number, piece));
        }
    }

    fn take_effect(&mut self, number: usize, piece: usize) {
        let mut operation = self.operations[number].take().expect("as in `operation`");
        let target = &mut self.ranks[operation.at.rank];
        if target.dead {
            operation.failed = true;
        } else if operation.take_effect(piece, &mut target.part) && target.watches {
            target.watches = false;
            self.resume(operation.at.rank, self.now);
        }
        operation.left -= 1;
        let is_over = operation.left == 0;
        self.operations[number] = Some(operation);
        if is_over {
            self.answer(number);
        }
    }

    /// Sends the answer of an operation that its target has served.
    fn answer(&mut self, number: usize) {
        let operation = self.operation(number);
        let (origin, target, answer) = (operation.origin, operation.at.rank, operation.answer());
        let at = if origin == target {
            self.now
        } else {
            let leaves = self.ranks[target].leaves_at.max(self.now) + self.network.transfer(answer);
            self.ranks[target].leaves_at = leaves;
            leaves + self.network.way(target, origin, &mut self.random)
        };
        self.plan(at, What::Done(number));
    }

    fn complete(&mut self, number: usize) {
        let operation = self.operations[number].take().expect("as in `operation`");
        self.vacant.push(number);
        let target = operation.at.rank;
        let rank = &mut self.ranks[operation.origin];
        rank.on_the_way -= 1;
        if rank.dead {
            return;
        }
        if !matches!(operation.kind, Kind::Put) {
            let dead = Err(Dead { rank: target });
            rank.result =
                Some(if operation.failed { dead } else { Ok((operation.was, operation.data)) });
            return self.resume(operation.origin, self.now);
        }
        if operation.failed {
            rank.lost.push(target);
        }
        let at = rank.puts.iter().position(|(to, _)| *to == target).expect("it was counted");
        rank.puts[at].1 -= 1;
        if rank.puts[at].1 == 0 {
            rank.puts.swap_remove(at);
        }
        if rank.flushes.is_some() && !rank.waits_for_puts() {
            self.resume(operation.origin, self.now);
        }
    }

    /// Lets a rank wait for its puts to a target, or for all its puts.
    pub(super) fn wait_for_puts(&mut self, rank: usize, target: Option<usize>) -> Then {
        let state = &mut self.ranks[rank];
        state.flushes = Some(target);
        if state.waits_for_puts() {
            return self.suspend(rank);
        }
        state.flushes = None;
        Then::GoOn
    }

    /// Lets a rank pause between two polls of a word of this target.
    pub(super) fn pause(&mut self, rank: usize, target: usize, looks: u32) -> Then {
        let own = rank == target;
        let doublings = looks.min(if own { OWN_DOUBLINGS } else { DOUBLINGS });
        self.ranks[rank].watches = own;
        let most = PAUSE << doublings;
        let pause = self.random.u64(most / 2..=most);
        self.rest(rank, pause)
    }

    /// Lets a rank wait for this many nanoseconds without accesses to memory.
    pub(super) fn rest(&mut self, rank: usize, time: u64) -> Then {
        self.resume(rank, self.now + time);
        self.suspend(rank)
    }
}

/// Whether a rank dies in the operation that it has just begun. If so, marks it as dead.
fn rank_dies(rank: &mut Rank) -> bool {
    let dies = rank.begun >= rank.dies_at && !rank.dead;
    if dies {
        rank.dead = true;
        rank.part = Vec::new();
    }
    dies
}
