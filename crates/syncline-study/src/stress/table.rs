//! SSYNC's hash table under load (section 6.3): with a lock in each bucket; and with servers, one
//! for three threads, that have a part of the keys each and are asked by message.
//!
//! Of the operations 80 % get, 10 % put and 10 % remove, on keys of which half are there.

use syncline::channel::{self, Inbox, Receiver, Sender};
use syncline::lock::{RawLock, Ttas};
use syncline::table::LockTable;
use syncline::wait::Spin;

use super::messages::{Fetched, Message};
use super::{Load, Outcome, Tally, outcome};
use crate::world::{Body, Phase, Watch, World};

/// How large a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Buckets: many for low contention, few for high.
    pub buckets: usize,
    /// Keys in each, on average.
    pub keys: usize,
}

/// The payload of a key: a line.
type Payload = [u64; 8];
const PAYLOAD: Payload = [1; 8];

/// What a thread does to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Get,
    Put,
    Remove,
}

impl Shape {
    /// A table with every second key of its range.
    fn table<L: RawLock>(self) -> LockTable<Payload, L> {
        let table = LockTable::new(self.buckets, self.keys);
        for key in (0..self.range()).step_by(2) {
            table.put(key, PAYLOAD);
        }
        table
    }

    fn range(self) -> u64 {
        2 * (self.buckets * self.keys) as u64
    }

    fn next(self, chance: &mut fastrand::Rng) -> (Operation, u64) {
        let operation = match chance.u8(0..10) {
            0 => Operation::Put,
            1 => Operation::Remove,
            _ => Operation::Get,
        };
        (operation, chance.u64(0..self.range()))
    }
}

fn apply<L: RawLock>(table: &LockTable<Payload, L>, operation: Operation, key: u64) -> bool {
    match operation {
        Operation::Get => table.get(key).is_some(),
        Operation::Put => table.put(key, PAYLOAD).is_some(),
        Operation::Remove => table.remove(key).is_some(),
    }
}

/// Operations by threads that take the buckets' locks.
pub fn run<W: World, L: RawLock<Memory = W::Memory>>(
    world: &W,
    shape: Shape,
    load: &Load,
) -> Outcome {
    let table = shape.table::<L>();
    let places = world.places(load.threads, load.placement);
    let mut tallies = vec![Tally::default(); load.threads];
    let threads = places.iter().zip(&mut tallies).enumerate().map(|(number, (&place, tally))| {
        let table = &table;
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut chance = load.chance(number);
            let mut counted = Tally::default();
            loop {
                let (operation, key) = shape.next(&mut chance);
                let found = apply(table, operation, key);
                match watch.phase() {
                    Phase::WarmUp => {}
                    Phase::Measured => counted.note(found, 0),
                    Phase::Over => break,
                }
            }
            *tally = counted;
        });
        (place, body)
    });
    let seconds = world.run(&load.course(Vec::new()), threads.collect());
    outcome(&tallies, seconds, 0)
}

/// Threads of which one is a server.
const THREADS_PER_SERVER: usize = 3;

/// A client's way to a server and back.
type Line<W> = (Sender<Message, Fetched<W>>, Receiver<Message, Fetched<W>>);

/// Operations by threads that ask servers; the first one and every third one is a server. With a
/// single thread there is a second one, as in SSYNC.
pub fn served<W: World>(world: &W, shape: Shape, load: &Load) -> Outcome {
    let all = load.threads.max(2);
    let places = world.places(all, load.placement);
    let servers = all.div_ceil(THREADS_PER_SERVER);
    let is_server = |number: usize| number.is_multiple_of(THREADS_PER_SERVER);
    let clients = all - servers;
    let mut lines: Vec<Vec<Line<W>>> = (0..clients).map(|_| Vec::new()).collect();
    let mut tallies = vec![Tally::default(); clients];
    let mut threads: Vec<(usize, Body<'_, W>)> = Vec::new();
    for place in (0..all).filter(|&number| is_server(number)).map(|number| places[number]) {
        threads.push((place, server::<W>(shape, servers, &mut lines)));
    }
    let asking = (0..all).filter(|&number| !is_server(number));
    for ((number, lines), tally) in asking.zip(lines).zip(&mut tallies) {
        let client: Body<'_, W> = Box::new(move |watch| {
            *tally = ask::<W>(shape, lines, &mut load.chance(number), watch);
        });
        threads.push((places[number], client));
    }
    let seconds = world.run(&load.course(Vec::new()), threads);
    outcome(&tallies, seconds, 0)
}

/// A server with its part of the keys, and a line to each client.
fn server<'a, W: World + 'a>(
    shape: Shape,
    servers: usize,
    lines: &mut [Vec<Line<W>>],
) -> Body<'a, W> {
    // Nobody else uses it: the locks in it are never waited for.
    let part = Shape { buckets: shape.buckets.div_ceil(servers), ..shape };
    let table = part.table::<Ttas<Spin, W::Memory>>();
    let mut inbox = Inbox::<Message, Fetched<W>>::over(lines.len(), 1);
    let mut answers = Vec::new();
    for lines in lines {
        let (_, sender) = inbox.connect().expect("there is a slot for each client");
        let (answer, answered) = channel::over::<Fetched<W>>(1);
        answers.push(answer);
        lines.push((sender, answered));
    }
    Box::new(move |_| {
        // Until the last client has gone.
        while let Ok((client, message)) = inbox.recv() {
            let operation = match message[0] {
                0 => Operation::Get,
                1 => Operation::Put,
                _ => Operation::Remove,
            };
            let found = apply(&table, operation, message[1] % part.range());
            // A client that has gone needs no answer.
            let _ = answers[client].send([u64::from(found); 7]);
        }
    })
}

fn ask<W: World>(
    shape: Shape,
    mut lines: Vec<Line<W>>,
    chance: &mut fastrand::Rng,
    watch: &W::Watch,
) -> Tally {
    let mut counted = Tally::default();
    let servers = lines.len() as u64;
    loop {
        let (operation, key) = shape.next(chance);
        let (sender, answers) = &mut lines[(key % servers) as usize];
        let mut message = [0; 7];
        (message[0], message[1]) = (operation as u64, key / servers);
        let answer = sender.send(message).ok().and_then(|()| answers.recv().ok());
        let answer = answer.expect("servers stay until the clients have gone");
        match watch.phase() {
            Phase::WarmUp => {}
            Phase::Measured => counted.note(answer[0] == 1, 0),
            Phase::Over => return counted,
        }
    }
}
