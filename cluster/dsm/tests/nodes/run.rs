//! One schedule: a program, nodes on a simulated network, and a seed that decides all choices.
//!
//! The program's locks send no messages: another node can take a lock the moment it is released. In
//! half of the schedules barriers send none either; in the others, nodes meet by Vela's barrier. So
//! apart from that barrier, only the fences order what nodes do.

use std::cell::RefCell;
use std::time::Duration;

use fastrand::Rng;
use syncline_dsm::carina::{Fence, FenceStep, Rules, Scheme};
use syncline_dsm::homes::Placement;
use syncline_dsm::node::{Node, Policy, Quiet};
use syncline_dsm::pages::{Access, Plain, Twins};
use syncline_dsm::shape::{Control, Shape};
use syncline_dsm::vela::Meeting;
use syncline_fabric::simulated::{Network, Simulation};
use syncline_fabric::{Fabric, Simulated};

use crate::broken::Broken;
use crate::program::{LOCKS, Program};
use crate::world::PAGE;

/// A fault in a schedule.
#[derive(Debug, PartialEq, Eq)]
pub enum Broke {
    /// A read did not return the oracle's value.
    Read { node: usize, page: usize },
    /// After the last barrier, the bytes of a page that rank 0 sees differ from the oracle's.
    Home { page: usize },
    /// A node has found a data race, and the program has none.
    Conflict,
}

/// How often a schedule reached certain cases.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reached {
    pub misses: u64,
    pub evicted: u64,
    pub drained: u64,
    pub downgrades: u64,
    pub kept: u64,
    pub notices: u64,
    pub logged: u64,
}

/// The state that all nodes of a schedule share, in addition to the fabric.
struct World {
    rng: Rng,
    program: Program,
    locked: [bool; LOCKS],
    arrived: usize,
    meetings: usize,
    broke: Option<Broke>,
    reached: Reached,
}

struct Schedule {
    rules: Broken,
    shape: Shape,
    policy: Policy,
    twins: Twins,
    phases: Vec<Fence>,
    /// Whether nodes meet by Vela's barrier, which takes messages and time.
    by_messages: bool,
    world: RefCell<World>,
}

/// Runs the schedule of this seed, and returns what is wrong in it.
pub fn run(rules: Broken, scheme: Scheme, seed: u64, reached: &mut Reached) -> Option<Broke> {
    let mut rng = Rng::with_seed(seed);
    let ranks = rng.usize(2..=6);
    let line_pages = rng.usize(1..=2);
    let lines = rng.usize(1..=4);
    let shape = Shape { ranks, page: PAGE, line_pages, lines, log: 4, locks: 0, nodes: 0, own: 0 };
    let phase = |rng: &mut Rng| if rng.u8(0..4) == 0 { Fence::Reset } else { Fence::Barrier };
    let mut phases: Vec<_> = (0..rng.usize(0..4)).map(|_| phase(&mut rng)).collect();
    phases.push(Fence::Barrier);
    let policy = Policy {
        scheme,
        placement: Placement::ALL[rng.usize(0..3)],
        cache_lines: rng.usize(1..=lines),
        write_buffer: if rng.bool() { usize::MAX } else { rng.usize(1..4) },
        check: rng.bool(),
    };
    let delay = [0, 300, 3000][rng.usize(0..3)];
    let network = Network { near: rng.usize(1..=3), delay, ..Network::default() };
    let twins = if rng.bool() { Twins::AtFetch } else { Twins::AtWrite };
    let by_messages = rng.bool();
    let program = Program::new(shape.pages(), ranks, &mut rng);
    let world = World {
        rng,
        program,
        locked: [false; LOCKS],
        arrived: 0,
        meetings: 0,
        broke: None,
        reached: std::mem::take(reached),
    };
    let world = RefCell::new(world);
    let schedule = Schedule { rules, shape, policy, twins, phases, by_messages, world };
    let simulation = Simulation::new(ranks, shape.layout().bytes, seed).on(network);
    simulation.run(|fabric| schedule.node(fabric));
    let world = schedule.world.into_inner();
    *reached = world.reached;
    world.broke
}

struct Rank<'a> {
    schedule: &'a Schedule,
    fabric: Simulated,
    node: Node<Simulated, Plain, Broken>,
    meeting: Meeting,
    met: usize,
    held: Vec<usize>,
}

impl Schedule {
    fn node(&self, fabric: Simulated) {
        let pages = Plain::new(self.shape.pages(), PAGE, self.twins);
        let node = Node::new(fabric.clone(), pages, self.rules, self.shape, self.policy);
        let (node, meeting) = (node.expect("memory"), Meeting::default());
        let mut rank = Rank { schedule: self, fabric, node, meeting, met: 0, held: Vec::new() };
        for phase in &self.phases {
            let acts = self.world.borrow_mut().rng.usize(2..24);
            (0..acts).for_each(|_| rank.act());
            while let Some(lock) = rank.held.last().copied() {
                rank.fence(Fence::Release, Some(lock));
            }
            rank.fence(*phase, None);
        }
        rank.end();
    }
}

impl Rank<'_> {
    fn act(&mut self) {
        let (me, mut world) = (self.fabric.rank(), self.schedule.world.borrow_mut());
        let World { rng, program, .. } = &mut *world;
        match rng.u8(0..17) {
            0..3 => {
                // Locks are taken in the order of their numbers, so that nodes don't wait for each
                // other in a circle.
                let from = self.held.iter().max().map_or(0, |lock| lock + 1);
                if from < LOCKS {
                    let lock = rng.usize(from..LOCKS);
                    drop(world);
                    self.fence(Fence::Acquire, Some(lock));
                }
            }
            3..5 => {
                if let Some(lock) = rng.choice(&self.held).copied() {
                    drop(world);
                    self.fence(Fence::Release, Some(lock));
                }
            }
            5 => program.hand_over(me, &self.held, rng),
            6 => {
                let time = Duration::from_nanos(rng.u64(0..5000));
                drop(world);
                self.fabric.rest(time);
            }
            // Has an effect if no node has touched the line yet.
            7 => {
                let shape = &self.schedule.shape;
                let (line, rank) = (rng.usize(0..shape.lines), rng.usize(0..shape.ranks));
                drop(world);
                self.node.place(line..line + 1, rank).expect("all live");
            }
            _ => {
                let access = program.access(me, &self.held, rng);
                drop(world);
                if let Some(access) = access {
                    self.access(access);
                }
            }
        }
    }

    fn access(&mut self, access: crate::program::Access) {
        let (page, kind) = (access.line, access.write);
        let asks = if kind.is_some() { Access::Write } else { Access::Read };
        // One call of `fault` brings the page into the right state for the access, as after a page
        // fault.
        self.node.fault(page, asks).expect("nobody dies");
        let range = page * PAGE + access.at..page * PAGE + access.at + access.len;
        let mut world = self.schedule.world.borrow_mut();
        let right = &mut world.program.oracle[page][access.at..access.at + access.len];
        if let Some(bytes) = kind {
            self.node.pages().change(range.start, &bytes[..access.len]);
            right.copy_from_slice(&bytes[..access.len]);
        } else if self.node.pages().look(range) != right {
            world.broke.get_or_insert(Broke::Read { node: self.fabric.rank(), page });
        }
    }

    fn fence(&mut self, which: Fence, lock: Option<usize>) {
        let all = matches!(which, Fence::Barrier | Fence::Reset);
        let quiet = if all { Quiet::Yes } else { Quiet::No };
        for step in self.schedule.rules.fence(which) {
            match (step, lock) {
                (FenceStep::Synchronize, None) => self.meet(),
                (FenceStep::Synchronize, Some(lock)) if which == Fence::Acquire => self.take(lock),
                (FenceStep::Synchronize, Some(lock)) => {
                    self.schedule.world.borrow_mut().locked[lock] = false;
                    self.held.retain(|held| *held != lock);
                }
                _ => self.node.step(*step, quiet).expect("nobody dies"),
            }
        }
    }

    fn take(&mut self, lock: usize) {
        while std::mem::replace(&mut self.schedule.world.borrow_mut().locked[lock], true) {
            self.fabric.rest(Duration::from_nanos(400));
        }
        self.held.push(lock);
    }

    fn meet(&mut self) {
        self.met += 1;
        let mut world = self.schedule.world.borrow_mut();
        world.arrived += 1;
        if world.arrived == self.fabric.ranks() {
            let World { program, rng, .. } = &mut *world;
            program.deal(self.fabric.ranks(), rng);
            world.arrived = 0;
            world.meetings += 1;
        }
        drop(world);
        if self.schedule.by_messages {
            let layout = self.schedule.shape.layout();
            self.meeting.meet(&self.fabric, &layout).expect("nobody dies");
            // All nodes must have come; otherwise the barrier has let this node go on too early.
            assert!(self.schedule.world.borrow().meetings >= self.met, "the barrier leaks");
        }
        while self.schedule.world.borrow().meetings < self.met {
            self.fabric.rest(Duration::from_nanos(400));
        }
    }

    /// Checks, after the last barrier, that rank 0 sees the oracle's values. Rank 0 sees its own
    /// copy of a page or, if the page is absent, the bytes at the page's home.
    fn end(mut self) {
        let counts = self.node.counts();
        let layout = self.schedule.shape.layout();
        let logged = self.fabric.load(layout.control(self.fabric.rank(), Control::LogTail));
        for page in (0..self.schedule.shape.pages()).filter(|_| self.fabric.rank() == 0) {
            // The bytes must be right both if the line was dropped and if it was kept.
            self.node.fault(page, Access::Read).expect("nobody dies");
            let copy = self.node.pages().look(page * PAGE..(page + 1) * PAGE).to_vec();
            let mut world = self.schedule.world.borrow_mut();
            if copy != world.program.oracle[page] {
                world.broke.get_or_insert(Broke::Home { page });
            }
        }
        let conflicts =
            self.fabric.load(layout.conflicts(self.fabric.rank())).expect("nobody dies");
        if conflicts > 0 {
            let mut world = self.schedule.world.borrow_mut();
            world.broke.get_or_insert(Broke::Conflict);
        }
        let reached = &mut self.schedule.world.borrow_mut().reached;
        reached.misses += counts.misses;
        reached.evicted += counts.evicted;
        reached.drained += counts.drained;
        reached.downgrades += counts.downgrades;
        reached.kept += counts.kept;
        reached.notices += counts.notices;
        reached.logged += logged.expect("nobody dies");
    }
}
