//! A run in which ranks do random operations on few keys, some ranks die, and all answers must have
//! an explanation.
//!
//! Values have many sizes, and each byte follows from the value's number and size. So a torn value,
//! or a value of another key, is detected at once. Meanwhile, puts of other keys make the parts
//! grow.

use std::cell::{Cell, OnceCell, RefCell};
use std::time::Duration;

use fastrand::Rng;
use syncline_dht::{Error, Mode, Options, Table};
use syncline_fabric::simulated::{Network, Simulation};
use syncline_fabric::{Fabric, Simulated};

use crate::history::{Answer, MOST, Operation, What, is_linearizable};

/// The longest time that a step may take. A step is several operations, each of which may wait
/// until the fabric knows of a death, and then for about 100 ms.
const LONGEST: Duration = Duration::from_millis(500);
/// The number of ranks that use one key.
const SHARERS: usize = 5;

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub seed: u64,
    pub ranks: usize,
    /// The most ranks that die; the first rank never does.
    pub deaths: usize,
    /// The number of operations of each rank on its key.
    pub steps: usize,
}

impl Scene {
    /// The parameters of the run with this seed.
    pub fn of(seed: u64, deaths: bool) -> Scene {
        let mut random = Rng::with_seed(seed);
        let ranks = if random.u8(..4) == 0 { random.usize(2..=64) } else { random.usize(2..=9) };
        let deaths = if deaths { random.usize(0..=2.min(ranks - 1)) } else { 0 };
        Scene { seed, ranks, deaths, steps: 8 }
    }

    fn simulation(&self) -> Simulation {
        let mut random = Rng::with_seed(self.seed ^ 0xdead);
        let bytes = if self.ranks <= 64 { 256 * 1024 } else { 32 * 1024 };
        let mut simulation = Simulation::new(self.ranks, bytes, self.seed);
        if random.u8(..4) == 0 {
            // With this network, a put or a get that is done in pieces may take longer than a
            // split.
            simulation = simulation.on(Network { tear: 40_000, ..Network::default() });
        }
        for _ in 0..self.deaths {
            simulation = simulation.dies(random.usize(1..self.ranks), random.u64(1..160));
        }
        simulation
    }

    /// The keys of the run. In half of the scenes with at most 64 ranks, all keys belong to two
    /// ranks, so that they share buckets.
    fn keys<F: Fabric, M: Mode<F>>(&self, table: &Table<F, M>) -> Vec<Vec<u8>> {
        let mut random = Rng::with_seed(self.seed ^ 0x6b65);
        let homes = if random.bool() || self.ranks > 64 { self.ranks } else { 2 };
        let number = self.ranks.div_ceil(SHARERS);
        let keys =
            (0..).map(|n: u32| format!("key {n}{}", &"!".repeat(n as usize % 40)).into_bytes());
        keys.filter(|key| table.home(key) < homes).take(number).collect()
    }
}

/// A value: its number, and a random number of further bytes, each of which follows from the number
/// and the size.
fn value(number: u64, random: &mut Rng) -> Vec<u8> {
    let length = match random.u8(..64) {
        0 => random.usize(..40_000),
        1..12 => random.usize(..600),
        _ => random.usize(..60),
    };
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((0..length as u64).map(|at| byte(number, length, at)));
    bytes
}

fn byte(number: u64, length: usize, at: u64) -> u8 {
    (number * 31 + at * 7 + length as u64) as u8
}

/// The number of a value; an error if the value is torn.
fn number(value: &[u8]) -> Result<u64, String> {
    let torn =
        || format!("{} bytes are no value: {:?}", value.len(), &value[..value.len().min(24)]);
    let (head, rest) = value.split_at_checked(8).ok_or_else(torn)?;
    let number = u64::from_le_bytes(head.try_into().expect("eight"));
    let right = |(at, &found)| found == byte(number, rest.len(), at);
    (0..).zip(rest).all(right).then_some(number).ok_or_else(torn)
}

/// The records of all ranks of a run. All ranks run in one thread.
struct Notes {
    clock: Cell<u64>,
    keys: OnceCell<Vec<Vec<u8>>>,
    histories: RefCell<Vec<Vec<Operation>>>,
    fault: RefCell<Option<String>>,
    done: Cell<usize>,
}

impl Notes {
    fn now(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn call(&self, key: usize, what: What) -> usize {
        let operation = Operation { called: self.now(), returned: u64::MAX, what, answer: None };
        let history = &mut self.histories.borrow_mut()[key];
        history.push(operation);
        history.len() - 1
    }

    fn say(&self, fault: String) {
        self.fault.borrow_mut().get_or_insert(fault);
    }
}

/// Runs the scene, and returns what is wrong, if anything. `open` opens the table of a rank.
pub fn run<F: Fabric, M: Mode<F>>(
    scene: Scene,
    open: impl Fn(Simulated, Options) -> Table<F, M>,
) -> Result<(), String> {
    let notes = Notes {
        clock: Cell::new(0),
        keys: OnceCell::new(),
        histories: RefCell::new(vec![Vec::new(); scene.ranks.div_ceil(SHARERS)]),
        fault: RefCell::new(None),
        done: Cell::new(0),
    };
    let options = Options { buckets: 1, ..Options::default() };
    scene.simulation().run(|simulated| {
        let table = open(simulated, options);
        let rank = table.fabric().rank();
        let keys = notes.keys.get_or_init(|| scene.keys(&table));
        let mut random = Rng::with_seed(scene.seed * 1000 + rank as u64);
        let (mine, mut others) = (rank / SHARERS, Vec::new());
        for step in 0..scene.steps {
            let began = table.fabric().now();
            operate(&table, &notes, (mine, &keys[mine]), step, &mut random);
            // This is another key, which makes the part grow.
            let other = format!("other {rank} {step}");
            match table.put(other.as_bytes(), &value(step as u64, &mut random)) {
                Ok(was) if was => notes.say(format!("{other} was there before it was put")),
                Ok(_) => others.push(other),
                Err(Error::Full { .. }) => {}
                Err(Error::Lost { .. }) if scene.deaths > 0 => {}
                Err(error) => notes.say(error.to_string()),
            }
            look_at(&table, &notes, &others, scene.deaths > 0);
            let took = table.fabric().now() - began;
            if took > LONGEST {
                notes.say(format!("rank {rank} took {took:?} for step {step}"));
            }
            table.fabric().rest(Duration::from_nanos(random.u64(..4000)));
        }
        notes.done.set(notes.done.get() + 1);
        if rank == 0 {
            let dead = || (0..scene.ranks).filter(|&rank| !table.fabric().is_alive(rank)).count();
            while notes.done.get() + dead() < scene.ranks {
                table.fabric().rest(Duration::from_micros(20));
            }
            look_back(&table, &notes, keys);
        }
    });
    if let Some(fault) = notes.fault.into_inner() {
        return Err(fault);
    }
    let histories = notes.histories.into_inner();
    match histories.iter().find(|history| !is_linearizable(history)) {
        Some(wrong) => Err(format!("nothing explains {wrong:#?}")),
        None => Ok(()),
    }
}

/// Makes one operation on a rank's key, and records it.
fn operate<F: Fabric, M: Mode<F>>(
    table: &Table<F, M>,
    notes: &Notes,
    (index, key): (usize, &[u8]),
    step: usize,
    random: &mut Rng,
) {
    let new = (step as u64 + 1) * 10_000 + table.fabric().rank() as u64;
    let what = match random.u8(..10) {
        0..4 => What::Get,
        4 => What::Contains,
        5..7 => What::Put(new),
        7 => What::Remove,
        _ => What::Update(new),
    };
    let at = notes.call(index, what);
    let known = |value: Option<&[u8]>| match value.map(number).transpose() {
        Ok(number) => number,
        Err(torn) => {
            notes.say(torn);
            None
        }
    };
    let answer = match what {
        What::Get => table.get(key).map(|value| Answer::Value(known(value.as_deref()))),
        What::Contains => table.contains(key).map(Answer::Was),
        What::Put(new) => table.put(key, &value(new, random)).map(Answer::Was),
        What::Remove => table.remove(key).map(Answer::Was),
        What::Update(by) => {
            // If other ranks change the value during the look-up, the update discards the value
            // that the look-up has read, so it may be anything.
            let old = Cell::new(None);
            let next = |found: Option<&[u8]>| {
                let found = found.map(|value| number(value).unwrap_or(u64::MAX));
                old.set(found);
                Some(value(found.unwrap_or(0).wrapping_add(by), random))
            };
            let was = table.update(key, next);
            was.map(|was| match old.get() {
                old if old.is_some() == was => Answer::Value(old),
                _ => Answer::Was(was),
            })
        }
    };
    match answer {
        Ok(answer) => {
            let operation = &mut notes.histories.borrow_mut()[index][at];
            (operation.returned, operation.answer) = (notes.now(), Some(answer));
        }
        // The operation had no effect, so it is recorded as a get.
        Err(Error::Full { .. }) => {
            let operation = &mut notes.histories.borrow_mut()[index][at];
            operation.what = What::Get;
            operation.returned = notes.now();
        }
        Err(Error::Lost { rank }) if table.fabric().load(at_start(rank)).is_err() => {}
        Err(error) => notes.say(error.to_string()),
    }
}

/// Checks that keys that were put and not removed are present.
fn look_at<F: Fabric, M: Mode<F>>(
    table: &Table<F, M>,
    notes: &Notes,
    others: &[String],
    may_be_lost: bool,
) {
    for other in others {
        match table.contains(other.as_bytes()) {
            Ok(true) => {}
            Ok(false) => notes.say(format!("{other} is gone")),
            Err(Error::Lost { .. }) if may_be_lost => {}
            Err(error) => notes.say(error.to_string()),
        }
    }
}

fn at_start(rank: usize) -> syncline_fabric::Position {
    syncline_fabric::Position { rank, at: 0 }
}

/// Runs after all ranks have ended or died: looks up every key that is not lost, and iterates over
/// every part that is not lost.
fn look_back<F: Fabric, M: Mode<F>>(table: &Table<F, M>, notes: &Notes, keys: &[Vec<u8>]) {
    let lost = table.lost();
    let mut all = std::collections::HashMap::new();
    for rank in (0..table.fabric().ranks()).filter(|rank| !lost.ranks().contains(rank)) {
        for entry in table.entries_of(rank) {
            match entry {
                Ok((key, value)) => {
                    if let Some(old) = all.insert(key, value) {
                        notes.say(format!("a key has two values: {} bytes are one", old.len()));
                    }
                }
                Err(error) => notes.say(error.to_string()),
            }
        }
    }
    for (index, key) in keys.iter().enumerate().filter(|(_, key)| !lost.has(key)) {
        if notes.histories.borrow()[index].len() < MOST {
            let at = notes.call(index, What::Get);
            let value = table.get(key).unwrap_or_else(|error| panic!("{error}"));
            if value.as_ref() != all.get(key) {
                notes.say("a part's entries have another value than its key".to_owned());
            }
            let number = value.map(|value| number(&value)).transpose();
            let operation = &mut notes.histories.borrow_mut()[index][at];
            operation.returned = notes.now();
            match number {
                Ok(number) => operation.answer = Some(Answer::Value(number)),
                Err(torn) => notes.say(torn),
            }
        }
    }
}
