//! A bank's transactions under load (SSYNC, section 4.3: TM2C). They run on an engine in shared
//! memory, on lock servers that receive messages, or under one lock for all.
//!
//! The bank has branches of eight accounts, each branch on lines of its own. A transfer moves money
//! between two accounts of a branch; an audit adds up a branch, whose sum must never change.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use syncline::lock::{Mcs, RawLock};
use syncline::memory::{Long, LongMemory, Padded};
use syncline::stm::{Engine, Served, Session, Shared, TCell};
use syncline::wait::Spin;

use super::table::Crew;
use super::{Load, Outcome, Tally, outcome, rest};
use crate::world::{Body, Phase, Watch, World};

/// The number of accounts of a branch.
const ACCOUNTS: usize = 8;
/// The initial balance of an account.
const FUNDS: u64 = 1_000;

/// The size of a bank, and the mix of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// The number of branches: many for low contention, few for high.
    pub branches: usize,
    /// The percentage of transactions that are audits; the others are transfers.
    pub audits: u8,
}

/// The accounts of a branch. Their offset within their lines is the same in every run.
type Branch<A> = Padded<[A; ACCOUNTS]>;

/// A transaction in a branch.
enum Transaction {
    /// A transfer between two accounts, given by their indices in the branch.
    Transfer(usize, usize),
    Audit,
}

impl Bank {
    fn branches<A>(self, account: impl Fn() -> A) -> Vec<Branch<A>> {
        (0..self.branches).map(|_| Padded(std::array::from_fn(|_| account()))).collect()
    }

    fn next(self, chance: &mut fastrand::Rng) -> (usize, Transaction) {
        let branch = chance.usize(0..self.branches);
        if chance.u8(0..100) < self.audits {
            return (branch, Transaction::Audit);
        }
        let (from, step) = (chance.usize(0..ACCOUNTS), chance.usize(1..ACCOUNTS));
        (branch, Transaction::Transfer(from, (from + step) % ACCOUNTS))
    }
}

/// The way in which a thread runs transactions.
trait Teller {
    /// Moves one unit from one account of a branch to another, unless the balance of the former is
    /// zero.
    fn transfer(&mut self, branch: usize, from: usize, to: usize);
    /// The sum of the accounts of a branch.
    fn audit(&mut self, branch: usize) -> u64;
}

/// A teller whose transactions run on an engine.
struct Transacting<'a, E: Engine> {
    branches: &'a [Branch<TCell<u64, E::Memory>>],
    session: Session<'a, E>,
}

impl<E: Engine> Teller for Transacting<'_, E> {
    fn transfer(&mut self, branch: usize, from: usize, to: usize) {
        let branch = &self.branches[branch];
        let (from, to) = (&branch[from], &branch[to]);
        self.session.atomically(|tx| {
            if let Some(left) = from.get(tx)?.checked_sub(1) {
                from.set(tx, left);
                let before = to.get(tx)?;
                to.set(tx, before + 1);
            }
            Ok(())
        });
    }

    fn audit(&mut self, branch: usize) -> u64 {
        let branch = &self.branches[branch];
        self.session.atomically(|tx| {
            let mut sum = 0;
            for account in branch.iter() {
                sum += account.get(tx)?;
            }
            Ok(sum)
        })
    }
}

/// A teller whose transactions run under one lock.
struct Locking<'a, L: RawLock<Memory: LongMemory>> {
    lock: &'a L,
    branches: &'a [Branch<<L::Memory as LongMemory>::Long>],
    node: Padded<L::Node>,
}

impl<L: RawLock<Memory: LongMemory>> Locking<'_, L> {
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the node stays in place, and the thread that releases has acquired.
        unsafe { self.lock.acquire(&self.node) };
        let result = section();
        // SAFETY: as above.
        unsafe { self.lock.release(&self.node) };
        result
    }
}

impl<L: RawLock<Memory: LongMemory>> Teller for Locking<'_, L> {
    fn transfer(&mut self, branch: usize, from: usize, to: usize) {
        let branch = &self.branches[branch];
        let (from, to) = (&branch[from], &branch[to]);
        // Relaxed: the lock orders the accesses.
        self.with(|| {
            if let Some(left) = from.load(Relaxed).checked_sub(1) {
                from.store(left, Relaxed);
                to.store(to.load(Relaxed) + 1, Relaxed);
            }
        });
    }

    fn audit(&mut self, branch: usize) -> u64 {
        let branch = &self.branches[branch];
        // Relaxed: as above.
        self.with(|| branch.iter().map(|word| word.load(Relaxed)).sum())
    }
}

/// Runs a teller's transactions until the test is over.
///
/// # Panics
/// If an audit finds a wrong sum.
fn work<W: World>(
    bank: Bank,
    teller: &mut impl Teller,
    (timed, pause): (bool, u64),
    mut chance: fastrand::Rng,
    watch: &W::Watch,
) -> Tally {
    let mut counted = Tally::default();
    loop {
        let next = bank.next(&mut chance);
        let began = if timed { W::now() } else { 0 };
        match next {
            (branch, Transaction::Transfer(from, to)) => teller.transfer(branch, from, to),
            (branch, Transaction::Audit) => {
                let sum = teller.audit(branch);
                assert_eq!(sum, ACCOUNTS as u64 * FUNDS, "an audit saw half of a transfer");
            }
        }
        let took = if timed { W::now() - began } else { 0 };
        match watch.phase() {
            Phase::WarmUp => {}
            Phase::Measured => counted.note(true, took),
            Phase::Over => return counted,
        }
        rest::<W>(&mut chance, pause);
    }
}

/// Runs a teller, which `hire` makes, on each of these processors, together with the threads
/// `others`. Each of the tellers' threads calls `retire` at its end.
///
/// # Panics
/// Same panics as [`work`].
fn run<W: World, T: Teller>(
    world: &W,
    bank: Bank,
    load: &Load,
    places: &[usize],
    hire: impl Fn() -> T + Sync,
    retire: impl Fn() + Sync,
    others: Vec<(usize, Body<'_, W>)>,
) -> Outcome {
    let mut tallies = vec![Tally::default(); places.len()];
    let mut threads: Vec<(usize, Body<'_, W>)> = others;
    let pause = load.pause(world, places);
    let (hire, retire) = (&hire, &retire);
    for (number, (&place, tally)) in places.iter().zip(&mut tallies).enumerate() {
        let chance = load.chance(number);
        let body: Body<'_, W> = Box::new(move |watch| {
            let mut teller = hire();
            *tally = work::<W>(bank, &mut teller, (load.timed, pause), chance, watch);
            drop(teller);
            retire();
        });
        threads.push((place, body));
    }
    let seconds = world.run(&load.course_of_all(), threads);
    outcome(&tallies, seconds, world.clock_cost())
}

/// Checks that no money appeared or disappeared.
fn check(bank: Bank, left: u64) {
    assert_eq!(left, (bank.branches * ACCOUNTS) as u64 * FUNDS, "money was made or lost");
}

/// Measures transactions on an engine.
fn on_engine<'a, W: World, E: Engine<Memory = W::Memory>>(
    world: &W,
    bank: Bank,
    load: &Load,
    places: &[usize],
    engine: &'a E,
    retire: impl Fn() + Sync,
    others: Vec<(usize, Body<'a, W>)>,
) -> Outcome {
    let branches = bank.branches(|| engine.cell(FUNDS));
    let hire = || Transacting { branches: &branches, session: Session::new(engine) };
    let outcome = run(world, bank, load, places, hire, retire, others);
    check(bank, branches.into_iter().flat_map(|branch| branch.0).map(TCell::into_inner).sum());
    outcome
}

/// Measures transactions on an engine in shared memory.
///
/// # Panics
/// If an audit finds a wrong sum, or if money was made or lost.
pub fn shared<W: World>(world: &W, bank: Bank, load: &Load) -> Outcome {
    let engine = Padded(Shared::<Spin, W::Memory>::default());
    let places = world.places(load.threads, load.placement);
    on_engine(world, bank, load, &places, &engine.0, || {}, Vec::new())
}

/// Measures transactions on lock servers: the first thread and every third one after it are
/// servers. If only one thread is requested, it serves a second one.
///
/// # Panics
/// Same panics as [`shared`].
pub fn served<W: World>(world: &W, bank: Bank, load: &Load) -> Outcome {
    let places = world.places(load.threads.max(2), load.placement);
    let crew = Crew::of(&places);
    let clients = crew.clients.len();
    let (engine, servers) = Served::<Spin, W::Memory>::new(clients, crew.servers.len());
    let engine = Padded(engine);
    let serving = crew.servers.iter().zip(servers).map(|(&place, server)| {
        let body: Body<'_, W> = Box::new(move |_| server.serve());
        (place, body)
    });
    let left = AtomicUsize::new(clients);
    // AcqRel: pairs with the same operation of the other clients. The last client to leave sees
    // that the sessions of all others have ended.
    let retire = || {
        if left.fetch_sub(1, AcqRel) == 1 {
            engine.close();
        }
    };
    on_engine(world, bank, load, &crew.clients, &engine.0, retire, serving.collect())
}

/// Measures transactions under one MCS lock.
///
/// # Panics
/// Same panics as [`shared`].
pub fn locked<W: World>(world: &W, bank: Bank, load: &Load) -> Outcome {
    let lock = Padded::<Mcs<Spin, W::Memory>>::default();
    let account = || {
        let word = <W::Memory as LongMemory>::Long::default();
        // Relaxed: no other thread runs yet.
        word.store(FUNDS, Relaxed);
        word
    };
    let branches = bank.branches(account);
    let places = world.places(load.threads, load.placement);
    let hire = || Locking { lock: &*lock, branches: &branches, node: Padded::default() };
    let outcome = run(world, bank, load, &places, hire, || {}, Vec::new());
    let accounts = branches.iter().flat_map(|branch| branch.iter());
    check(bank, accounts.map(|word| word.load(Relaxed)).sum());
    outcome
}
