//! SSYNC's hash table under load (section 6.3): with a lock in each bucket, or with servers. With
//! servers, one of every three threads is a server, which owns a part of the keys and receives
//! requests as messages.
//!
//! 80 % of the operations are gets, 10 % puts and 10 % removals. Half of the keys in the range of a
//! table are present at first.

use syncline::lock::RawLock;
use syncline::table::{LockTable, ServedTable, TableClient};
use syncline::wait::Spin;

use super::{Load, Outcome, Tally, outcome, rest};
use crate::world::{Body, Phase, Watch, World};

/// The size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of buckets: many for low contention, few for high.
    pub buckets: usize,
    /// The average number of keys in a bucket.
    pub keys: usize,
}

/// The payload of a key, which fills a cache line.
type Payload = [u64; 8];
const PAYLOAD: Payload = [1; 8];

/// An operation on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Get,
    Put,
    Remove,
}

impl Operation {
    /// The operation with this number; `None` if there is no such operation.
    pub(super) fn of(number: u64) -> Option<Operation> {
        [Operation::Get, Operation::Put, Operation::Remove].get(number as usize).copied()
    }
}

impl Shape {
    /// A table that contains every second key of its range.
    pub(super) fn table<L: RawLock>(self) -> LockTable<Payload, L> {
        let table = LockTable::new(self.buckets, self.keys);
        for key in (0..self.range()).step_by(2) {
            table.put(key, PAYLOAD);
        }
        table
    }

    /// The shape of the part of the table that each of this many servers has.
    pub(super) fn part(self, servers: usize) -> Shape {
        Shape { buckets: self.buckets.div_ceil(servers), ..self }
    }

    /// The number of instructions of an operation that do not belong to its accesses to memory.
    /// They choose the operation and its key, find the bucket, compare keys, and make calls. They
    /// were counted with callgrind in compiled code for x86-64. With 12 keys, an operation has 148
    /// instructions; 82 of these belong to accesses to 27 words. With 48 keys, it has 297
    /// instructions; 175 of these belong to accesses to 58 words.
    pub(super) fn instructions(self) -> u64 {
        48 + 3 * self.keys as u64 / 2
    }

    pub(super) fn range(self) -> u64 {
        2 * (self.buckets * self.keys) as u64
    }

    pub(super) fn next(self, chance: &mut fastrand::Rng) -> (Operation, u64) {
        let operation = match chance.u8(0..10) {
            0 => Operation::Put,
            1 => Operation::Remove,
            _ => Operation::Get,
        };
        (operation, chance.u64(0..self.range()))
    }
}

pub(super) fn apply<L: RawLock>(
    table: &LockTable<Payload, L>,
    operation: Operation,
    key: u64,
) -> bool {
    match operation {
        Operation::Get => table.get(key).is_some(),
        Operation::Put => table.put(key, PAYLOAD).is_some(),
        Operation::Remove => table.remove(key).is_some(),
    }
}

/// Measures operations by threads that acquire the buckets' locks.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    shape: Shape,
    load: &Load,
) -> Outcome {
    let table = shape.table::<L>();
    let places = world.places(load.threads, load.placement);
    let pause = load.pause(world, &places);
    let mut tallies = vec![Tally::default(); load.threads];
    let threads = places.iter().zip(&mut tallies).enumerate().map(|(number, (&place, tally))| {
        let table = &table;
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            let mut counted = Tally::default();
            loop {
                let (operation, key) = shape.next(&mut chance);
                W::execute(shape.instructions());
                let began = if load.timed { W::now() } else { 0 };
                let found = apply(table, operation, key);
                let took = if load.timed { W::now() - began } else { 0 };
                match watch.phase() {
                    Phase::WarmUp => {}
                    Phase::Measured => counted.note(found, took),
                    Phase::Over => break,
                }
                rest::<W>(&mut chance, pause);
            }
            *tally = counted;
        });
        (place, body)
    });
    let seconds = world.run(&load.course_of_all(), threads.collect());
    outcome(&tallies, seconds, world.clock_cost())
}

/// One of every this many threads is a server.
const THREADS_PER_SERVER: usize = 3;

/// The division of threads into servers and clients: the first thread and every third one after it
/// are servers.
pub(super) struct Crew {
    /// The processors of the servers.
    pub(super) servers: Vec<usize>,
    /// The processors of the clients.
    pub(super) clients: Vec<usize>,
}

impl Crew {
    pub(super) fn of(places: &[usize]) -> Crew {
        let numbered = || places.iter().copied().enumerate();
        let is_server = |&(number, _): &(usize, usize)| number.is_multiple_of(THREADS_PER_SERVER);
        let place = |(_, place)| place;
        Crew {
            servers: numbered().filter(is_server).map(place).collect(),
            clients: numbered().filter(|thread| !is_server(thread)).map(place).collect(),
        }
    }
}

/// The payload of a key on a server, which must fit into a message together with the key.
type Carried = [u64; 4];
const CARRIED: Carried = [1; 4];

/// Measures operations by threads that ask servers; the first thread and every third one after it
/// are servers. If only one thread is requested, it serves a second one, as in SSYNC.
pub fn served<W: World>(world: &W, shape: Shape, load: &Load) -> Outcome {
    let all = load.threads.max(2);
    let places = world.places(all, load.placement);
    let crew = Crew::of(&places);
    let mut table =
        ServedTable::<Carried, W::Memory>::new(shape.buckets, shape.keys, crew.servers.len());
    for key in (0..shape.range()).step_by(2) {
        table.put(key, CARRIED);
    }
    let (servers, clients) = table.serve::<Spin>(crew.clients.len());
    let pause = load.pause(world, &places);
    let mut tallies = vec![Tally::default(); crew.clients.len()];
    let mut threads: Vec<(usize, Body<'_, W>)> = Vec::new();
    for (&place, server) in crew.servers.iter().zip(servers) {
        // A server runs until the last client has gone.
        threads.push((place, Box::new(move |_| drop(server.run()))));
    }
    let asking = crew.clients.iter().zip(clients).zip(&mut tallies).enumerate();
    for (number, ((&place, client), tally)) in asking {
        let client: Body<'_, W> = Box::new(move |watch| {
            *tally = ask::<W>(shape, client, (load.timed, pause), load.chance(number), watch);
        });
        threads.push((place, client));
    }
    let seconds = world.run(&load.course_of_all(), threads);
    outcome(&tallies, seconds, world.clock_cost())
}

fn ask<W: World>(
    shape: Shape,
    mut client: TableClient<Carried, Spin, W::Memory>,
    (timed, pause): (bool, u64),
    mut chance: fastrand::Rng,
    watch: &W::Watch,
) -> Tally {
    let mut counted = Tally::default();
    loop {
        let (operation, key) = shape.next(&mut chance);
        W::execute(shape.instructions());
        let began = if timed { W::now() } else { 0 };
        let answer = match operation {
            Operation::Get => client.get(key),
            Operation::Put => client.put(key, CARRIED),
            Operation::Remove => client.remove(key),
        };
        let found = answer.expect("servers stay until the clients have gone").is_some();
        let took = if timed { W::now() - began } else { 0 };
        match watch.phase() {
            Phase::WarmUp => {}
            Phase::Measured => counted.note(found, took),
            Phase::Over => return counted,
        }
        rest::<W>(&mut chance, pause);
    }
}
