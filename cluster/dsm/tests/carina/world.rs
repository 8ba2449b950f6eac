//! One schedule: a program, its nodes, the memory at the homes, a network, and a seed that decides
//! all choices.
//!
//! In each turn, either one operation under way takes effect, or one node performs one step.
//! Schedules differ in how often operations take effect, and in which pairs of nodes are slow.

use fastrand::Rng;
use syncline_dsm::carina::{Entry, Fence, Known, Scheme};

use crate::broken::Broken;
use crate::network::{Message, Network, Op};
use crate::node::{Do, Node, Sync};
use crate::program::{LOCKS, Program};

pub const MOST_NODES: usize = 6;
pub const PAGE: usize = 16;
const MOST_TURNS: usize = 200_000;

/// A fault in a schedule.
#[derive(Debug, PartialEq, Eq)]
pub enum Broke {
    /// A read did not return the oracle's value.
    Read { node: usize, line: usize, at: usize, read: Vec<u8>, right: Vec<u8> },
    /// After the last barrier, the bytes at a home differ from the oracle's.
    Home { line: usize },
    /// All nodes wait and no operation is under way, or the schedule took too many turns.
    Stuck,
}

/// How often a schedule reached certain cases, so that a test can check that it did.
#[derive(Debug, Default)]
pub struct Reached {
    pub accesses: usize,
    pub kept: usize,
    pub written_dropped: usize,
    pub notices: usize,
    pub everybody: usize,
    pub told: usize,
    pub resets: usize,
}

/// A deposit whose notices are under way.
pub struct Pending {
    pub from: usize,
    pub line: usize,
    pub left: usize,
    pub then_told: bool,
}

pub struct World<'a> {
    pub rules: Broken,
    pub scheme: Scheme,
    pub rng: Rng,
    pub nodes: Vec<Node>,
    /// The number of homes, which is the number of nodes: each node is a home.
    pub homes: usize,
    pub memory: Vec<[u8; PAGE]>,
    pub directory: Vec<Entry>,
    logs: Vec<Vec<(usize, usize)>>,
    count: u64,
    pub pending: Vec<Pending>,
    pub network: Network,
    pub program: Program,
    pub locked: [bool; LOCKS],
    pub waiting: usize,
    pub meetings: usize,
    phases: Vec<Fence>,
    pub reached: &'a mut Reached,
}

/// Runs the schedule of this seed.
pub fn run(rules: Broken, scheme: Scheme, seed: u64, reached: &mut Reached) -> Result<(), Broke> {
    let mut rng = Rng::with_seed(seed);
    let homes = rng.usize(2..=MOST_NODES);
    let lines = rng.usize(1..=4);
    let slots = rng.usize(1..=lines);
    let node = |_| Node {
        known: vec![Known::default(); lines],
        slots: (0..slots).map(|_| None).collect(),
        ..Node::default()
    };
    let nodes = (0..homes).map(node).collect();
    let phase = |rng: &mut Rng| if rng.u8(0..4) == 0 { Fence::Reset } else { Fence::Barrier };
    let mut phases: Vec<_> = (0..rng.usize(0..4)).map(|_| phase(&mut rng)).collect();
    phases.push(Fence::Barrier);
    let (network, program) = (Network::new(&mut rng), Program::new(lines, homes, &mut rng));
    let world = World {
        rules,
        scheme,
        rng,
        nodes,
        homes,
        memory: vec![[0; PAGE]; lines],
        directory: vec![Entry::EMPTY; lines],
        logs: vec![Vec::new(); homes],
        count: 0,
        pending: Vec::new(),
        network,
        program,
        locked: [false; LOCKS],
        waiting: 0,
        meetings: 0,
        phases,
        reached,
    };
    world.run()
}

impl World<'_> {
    fn run(mut self) -> Result<(), Broke> {
        for node in &mut self.nodes {
            node.left = self.rng.usize(2..24);
        }
        let eager = self.rng.u8(1..8);
        for _ in 0..MOST_TURNS {
            let at = self.rng.usize(0..self.homes);
            let next = (0..self.homes).map(|n| (at + n) % self.homes).find(|n| self.ready(*n));
            match next {
                Some(me) if self.network.is_idle() || self.rng.u8(0..8) >= eager => {
                    self.step(me)?;
                }
                None if self.network.is_idle() => return self.ended(),
                _ => {
                    if let Some(message) = self.network.next(next.is_none(), &mut self.rng) {
                        self.take_effect(message);
                    }
                }
            }
        }
        Err(Broke::Stuck)
    }

    fn ended(self) -> Result<(), Broke> {
        if !(0..self.homes).all(|me| self.is_done(me)) {
            return Err(Broke::Stuck);
        }
        match (0..self.memory.len()).find(|l| self.memory[*l] != self.program.oracle[*l]) {
            Some(line) => Err(Broke::Home { line }),
            None => Ok(()),
        }
    }

    pub fn home(&self, line: usize) -> usize {
        line % self.homes
    }

    /// Whether a node has come to the end of its program.
    pub fn is_done(&self, me: usize) -> bool {
        self.nodes[me].phase == self.phases.len() && self.nodes[me].todo.is_empty()
    }

    /// Decides what the program does next at a node, and begins it.
    pub fn act(&mut self, me: usize) {
        let node = &mut self.nodes[me];
        if node.left == 0 {
            match node.held.last() {
                Some(lock) => {
                    let lock = *lock;
                    self.begin(me, Fence::Release, Sync::Give(lock));
                }
                None => {
                    node.left = self.rng.usize(2..24);
                    node.phase += 1;
                    let which = self.phases[node.phase - 1];
                    self.begin(me, which, Sync::Meet);
                }
            }
            return;
        }
        node.left -= 1;
        match self.rng.u8(0..16) {
            0..3 => {
                // Locks are taken in the order of their numbers, so that nodes don't wait for each
                // other in a circle.
                let from = node.held.iter().max().map_or(0, |lock| lock + 1);
                if from < LOCKS {
                    let lock = self.rng.usize(from..LOCKS);
                    self.begin(me, Fence::Acquire, Sync::Take(lock));
                }
            }
            3..5 => {
                if let Some(lock) = self.rng.choice(&node.held).copied() {
                    self.begin(me, Fence::Release, Sync::Give(lock));
                }
            }
            5 => self.program.hand_over(me, &node.held, &mut self.rng),
            6 => self.drain(me),
            _ => {
                let access = self.program.access(me, &node.held, &mut self.rng);
                node.todo.extend(access.map(Do::Access));
            }
        }
    }

    fn take_effect(&mut self, Message { from, to, op }: Message) {
        let node = &mut self.nodes[from];
        match op {
            Op::Swap { line, expected, new } => {
                node.reply = Some(self.directory[line].bits());
                if self.directory[line] == expected {
                    self.directory[line] = new;
                }
            }
            Op::Told { line } => {
                let bits = self.directory[line].bits() | Entry::TOLD;
                self.directory[line] = Entry::from_bits(bits);
            }
            Op::Get { line, half } => {
                let range = half * PAGE / 2..(half + 1) * PAGE / 2;
                node.arriving[range.clone()].copy_from_slice(&self.memory[line][range]);
                node.gets -= 1;
            }
            Op::Put { line, at, len, bytes } => {
                self.memory[line][at..at + len].copy_from_slice(&bytes[..len]);
            }
            Op::Notice { line, deposit } => {
                let word = &mut self.nodes[to].notices;
                let kept = if self.rules == Broken::NoticeOverwritten { 0 } else { *word };
                *word = kept | 1 << line;
                self.arrived(deposit);
            }
            Op::Append { line, deposit } => {
                self.logs[to].push((line, from));
                if self.rules != Broken::CountBeforeLog {
                    self.network.send(from, 0, Op::Count { deposit });
                }
            }
            Op::Count { deposit } => {
                self.count += 1;
                self.arrived(deposit);
            }
            Op::ReadCount => node.reply = Some(self.count),
            Op::ReadLog => {
                let new = &self.logs[to][node.read[to]..];
                for (line, _) in new.iter().filter(|(_, who)| *who != from) {
                    node.notices |= 1 << line;
                }
                node.read[to] = self.logs[to].len();
                node.gets -= 1;
            }
        }
    }

    /// Called when a notice has arrived. The last notice of a deposit may set *told*.
    fn arrived(&mut self, deposit: usize) {
        let pending = &mut self.pending[deposit];
        pending.left -= 1;
        if pending.left == 0 && pending.then_told {
            let (from, line) = (pending.from, pending.line);
            self.network.send(from, self.home(line), Op::Told { line });
        }
    }
}
