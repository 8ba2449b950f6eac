//! Runs a program on the nodes of a simulated cluster.

use std::cell::RefCell;
use std::time::Duration;

use syncline_dsm::carina::{Carina, Fence, FenceStep, Rules, Scheme};
use syncline_dsm::homes::Placement;
use syncline_dsm::node::{Node, Policy, Quiet};
use syncline_dsm::pages::{Access, Pages as _};
use syncline_dsm::shape::{PAGE, Shape};
use syncline_dsm::vela::Meeting;
use syncline_fabric::simulated::{Network, Simulation};
use syncline_fabric::{Fabric, Simulated};

use super::marks::Marks;
use super::programs::{Phase, Program};

/// The number of threads of a node that compute: the paper leaves one of a node's 16 cores to the
/// operating system.
pub const THREADS: usize = 15;
/// Nanoseconds of a page fault with SIGSEGV and `mprotect`, as in the paper, without its use of the
/// network. Measured on today's machines (docs/internals/dsm.md), without the copy of the page.
const FAULT: u64 = 12_000;
/// The number of times that each thread writes to a page before it goes on to the next page.
const VISITS: usize = 8;

/// QDR InfiniBand under MPI with one rank on each machine. By their data sheets and by
/// measurements, its adapters have a latency of 1.6 microseconds one way and a bandwidth of 3.2
/// GB/s. Random delays usually add up to a tenth.
fn qdr() -> Network {
    Network {
        near: 1,
        latency_near: 300,
        latency_far: 1600,
        own: 100,
        delay: 160,
        tear: 0,
        bandwidth: 3200,
    }
}

/// The cluster on which a program runs.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// The number of nodes.
    pub nodes: usize,
    /// The scheme by which lines are classified.
    pub scheme: Scheme,
    /// The most changed pages that a node keeps. If there are more, the node writes the first of
    /// them back to their homes.
    pub write_buffer: usize,
    /// The number of pages that a miss fetches.
    pub line_pages: usize,
}

/// The result of a run's measured phases; those that initialize the data are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Simulated seconds.
    pub seconds: f64,
    /// The number of pages whose changes were written back to their homes, on all nodes.
    pub written_back: u64,
    /// The number of accesses whose line was not in the node's cache, on all nodes.
    pub misses: u64,
}

/// Runs a program on a simulated cluster.
pub fn run(program: &dyn Program, cluster: Cluster, seed: u64) -> Outcome {
    let lines = program.pages().div_ceil(cluster.line_pages);
    let shape = Shape {
        ranks: cluster.nodes,
        page: PAGE,
        line_pages: cluster.line_pages,
        lines,
        log: 1 << 16,
        locks: 0,
        nodes: 0,
        own: 0,
    };
    let outcome = RefCell::new(Outcome::default());
    let simulation = Simulation::new(cluster.nodes, shape.layout().bytes, seed)
        .on(qdr())
        .limit(Duration::from_secs(1_000_000));
    simulation.run(|fabric| {
        let rank = Rank::new(fabric, shape, cluster);
        rank.run(program, &outcome);
    });
    outcome.into_inner()
}

struct Rank {
    fabric: Simulated,
    shape: Shape,
    node: Node<Simulated, Marks>,
    meeting: Meeting,
    /// Nanoseconds of faults, without their use of the network, that have not been simulated yet.
    faulted: u64,
}

impl Rank {
    fn new(fabric: Simulated, shape: Shape, cluster: Cluster) -> Rank {
        let policy = Policy {
            scheme: cluster.scheme,
            // The first node is the home of the lowest addresses, the second of the next, and so on
            // (section 3 of the paper).
            placement: Placement::Blocks,
            // The cache is as large as the shared memory.
            cache_lines: shape.lines,
            write_buffer: cluster.write_buffer,
            check: false,
        };
        let pages = Marks::new(shape.pages());
        let node = Node::new(fabric.clone(), pages, Carina, shape, policy);
        Rank { fabric, shape, node: node.expect("memory"), meeting: Meeting::default(), faulted: 0 }
    }

    fn run(mut self, program: &dyn Program, outcome: &RefCell<Outcome>) {
        let (me, nodes) = (self.fabric.rank(), self.fabric.ranks());
        for phase in program.first(me, nodes) {
            self.phase(&phase);
            self.fence(Fence::Reset);
        }
        let (began, before) = (self.fabric.now(), self.node.counts());
        for number in 0..program.phases() {
            self.phase(&program.phase(number, me, nodes));
            self.fence(Fence::Barrier);
        }
        let (counts, mut outcome) = (self.node.counts(), outcome.borrow_mut());
        outcome.seconds = outcome.seconds.max((self.fabric.now() - began).as_secs_f64());
        outcome.written_back += counts.downgrades - before.downgrades;
        outcome.misses += counts.misses - before.misses;
    }

    fn phase(&mut self, phase: &Phase) {
        for range in &phase.reads {
            range.clone().for_each(|page| self.access(page, Access::Read));
        }
        self.write(&phase.writes);
        let computes = phase.work / phase.threads.clamp(1, THREADS) as f64;
        let faulted = Duration::from_nanos(std::mem::take(&mut self.faulted));
        self.fabric.rest(Duration::from_secs_f64(computes) + faulted);
    }

    /// Lets each thread write its share of the pages, page by page. The writes of all threads are
    /// interleaved, since the threads run at the same time.
    fn write(&mut self, ranges: &[std::ops::Range<usize>]) {
        let pages: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let shares: Vec<&[usize]> = pages.chunks(pages.len().div_ceil(THREADS).max(1)).collect();
        let longest = shares.iter().map(|share| share.len()).max().unwrap_or(0);
        for at in 0..longest {
            for _ in 0..VISITS {
                for share in &shares {
                    if let Some(page) = share.get(at) {
                        self.access(*page, Access::Write);
                    }
                }
            }
        }
    }

    /// Simulates an access as the processor performs it: only an access that faults costs time. A
    /// load or a store faults if the page is absent. A store also faults if the page is clean.
    fn access(&mut self, page: usize, access: Access) {
        let writes = access == Access::Write;
        if !self.node.has(page) || writes && !self.node.pages().is_written(page) {
            self.faulted += FAULT;
            self.node.fault(page, access).expect("nobody dies");
        }
    }

    fn fence(&mut self, which: Fence) {
        for step in Carina.fence(which) {
            match step {
                FenceStep::Synchronize => {
                    let layout = self.shape.layout();
                    self.meeting.meet(&self.fabric, &layout).expect("nobody dies");
                }
                _ => self.node.step(*step, Quiet::Yes).expect("nobody dies"),
            }
        }
    }
}
