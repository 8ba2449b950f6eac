//! The programs of Argo's paper (see the parent module), described by the pages that they access
//! between two synchronizations.
//!
//! Sizes are those of the paper if it gives them (matrix multiplication). Otherwise they are those
//! of the inputs that come with the programs, or else medium sizes. Computing times have the right
//! order of magnitude for a core of 3 GHz. No size or time is fitted to a result.

#![allow(
    clippy::single_range_in_vec_init,
    reason = "pages are told by lists of ranges, often of one"
)]

use std::ops::Range;

use syncline_dsm::shape::PAGE;

/// The work of a node up to the next synchronization.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// The pages that the node's threads read.
    pub reads: Vec<Range<usize>>,
    /// The pages that the node's threads write.
    pub writes: Vec<Range<usize>>,
    /// The work of all threads together, in seconds of one core.
    pub work: f64,
    /// The number of threads that have something to compute.
    pub threads: usize,
}

/// A program without locks. It consists of phases, and each phase ends with a barrier of all nodes.
pub trait Program: Sync {
    /// The program's name, with its size if there are programs of several sizes.
    fn name(&self) -> &'static str;
    /// The number of pages that the program shares.
    fn pages(&self) -> usize;
    /// A node's phases before the measured ones. After each of these phases, all pages are
    /// classified from scratch.
    fn first(&self, node: usize, nodes: usize) -> Vec<Phase>;
    /// The number of measured phases.
    fn phases(&self) -> usize;
    /// The work of a node in a measured phase.
    fn phase(&self, number: usize, node: usize, nodes: usize) -> Phase;
    /// The work of all nodes in the measured phases together, in seconds of one core.
    fn work(&self) -> f64;
}

/// The number of threads in a phase in which every thread of a node has something to compute.
const ALL: usize = usize::MAX;

const fn pages(bytes: usize) -> usize {
    bytes.div_ceil(PAGE)
}

/// The items that a node has if `of` items are divided among all nodes in contiguous blocks.
fn share(of: usize, node: usize, nodes: usize) -> Range<usize> {
    of * node / nodes..of * (node + 1) / nodes
}

fn moved(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// PARSEC's Blackscholes with its input `native`: in each round, a node reads its options and
/// writes its prices.
pub struct Blackscholes {
    /// The number of times that all prices are computed.
    pub rounds: usize,
}

impl Blackscholes {
    const OPTIONS: usize = 10_000_000;
    const READ: usize = pages(Self::OPTIONS * 36);
    const WRITTEN: usize = pages(Self::OPTIONS * 4);
    /// Computing time for an option, in seconds.
    const SECONDS: f64 = 200e-9;
}

impl Program for Blackscholes {
    fn name(&self) -> &'static str {
        "Blackscholes"
    }
    fn pages(&self) -> usize {
        Self::READ + Self::WRITTEN
    }
    fn first(&self, node: usize, nodes: usize) -> Vec<Phase> {
        vec![self.phase(0, node, nodes)]
    }
    fn phases(&self) -> usize {
        self.rounds
    }
    fn phase(&self, _: usize, node: usize, nodes: usize) -> Phase {
        Phase {
            reads: vec![share(Self::READ, node, nodes)],
            writes: vec![moved(share(Self::WRITTEN, node, nodes), Self::READ)],
            work: self.work() / (self.rounds * nodes) as f64,
            threads: ALL,
        }
    }
    fn work(&self) -> f64 {
        self.rounds as f64 * Self::OPTIONS as f64 * Self::SECONDS
    }
}

/// Bodies that attract each other: in each step, a node reads all positions, and then writes those
/// of its own bodies.
pub struct Bodies {
    /// Number of bodies.
    pub bodies: usize,
    /// Number of measured steps.
    pub steps: usize,
}

impl Bodies {
    /// Computing time for a pair of bodies, in seconds.
    const SECONDS: f64 = 10e-9;

    fn positions(&self) -> usize {
        pages(self.bodies * 32)
    }
}

impl Program for Bodies {
    fn name(&self) -> &'static str {
        "n-body"
    }
    fn pages(&self) -> usize {
        self.positions()
    }
    fn first(&self, node: usize, nodes: usize) -> Vec<Phase> {
        let mine = share(self.positions(), node, nodes);
        vec![Phase { writes: vec![mine], ..Phase::default() }]
    }
    fn phases(&self) -> usize {
        2 * self.steps
    }
    fn phase(&self, number: usize, node: usize, nodes: usize) -> Phase {
        if number.is_multiple_of(2) {
            let work = self.work() / (self.steps * nodes) as f64;
            return Phase {
                reads: vec![0..self.positions()],
                work,
                threads: ALL,
                ..Phase::default()
            };
        }
        Phase { writes: vec![share(self.positions(), node, nodes)], ..Phase::default() }
    }
    fn work(&self) -> f64 {
        self.steps as f64 * (self.bodies as f64).powi(2) * Self::SECONDS
    }
}

/// A plain product of square matrices: a node reads some rows of the first matrix and all of the
/// second matrix, and writes the same rows of the result.
pub struct Product {
    /// The program's name, with its size.
    pub name: &'static str,
    /// The number of rows of each matrix.
    pub side: usize,
}

impl Product {
    /// Computing time for a multiplication and an addition, in seconds. It is long because the
    /// second matrix is read by columns.
    const SECONDS: f64 = 3e-9;

    fn matrix(&self) -> usize {
        pages(self.side * self.side * 8)
    }
}

impl Program for Product {
    fn name(&self) -> &'static str {
        self.name
    }
    fn pages(&self) -> usize {
        3 * self.matrix()
    }
    /// The first node fills both factors.
    fn first(&self, node: usize, _: usize) -> Vec<Phase> {
        let all = 0..2 * self.matrix();
        vec![Phase { writes: if node == 0 { vec![all] } else { vec![] }, ..Phase::default() }]
    }
    fn phases(&self) -> usize {
        1
    }
    fn phase(&self, _: usize, node: usize, nodes: usize) -> Phase {
        let (matrix, rows) = (self.matrix(), share(self.matrix(), node, nodes));
        Phase {
            reads: vec![rows.clone(), matrix..2 * matrix],
            writes: vec![moved(rows, 2 * matrix)],
            work: self.work() / nodes as f64,
            threads: ALL,
        }
    }
    fn work(&self) -> f64 {
        (self.side as f64).powi(3) * Self::SECONDS
    }
}

/// SPLASH-2's LU with contiguous blocks, which are distributed over a grid of nodes. Each step
/// factors the diagonal block, then the blocks of its row and column, and then updates all
/// remaining blocks.
pub struct Triangles {
    /// The number of blocks, of 64 by 64 elements, in a row of the matrix.
    pub blocks: usize,
}

impl Triangles {
    const SIDE: usize = 64;
    const PAGES: usize = pages(Self::SIDE * Self::SIDE * 8);
    /// Computing time for a multiplication and an addition, in seconds.
    const SECONDS: f64 = 1e-9;

    /// The numbers of rows and columns of the grid of nodes.
    fn board(nodes: usize) -> (usize, usize) {
        let mut rows = (nodes as f64).sqrt() as usize;
        while !nodes.is_multiple_of(rows) {
            rows -= 1;
        }
        (rows, nodes / rows)
    }

    fn owner(row: usize, column: usize, nodes: usize) -> usize {
        let (rows, columns) = Self::board(nodes);
        row % rows * columns + column % columns
    }

    fn block(&self, row: usize, column: usize) -> Range<usize> {
        let first = (row * self.blocks + column) * Self::PAGES;
        first..first + Self::PAGES
    }

    /// The blocks among `all` that belong to the node `node`, as rows and columns.
    fn own_blocks(
        &self,
        all: impl Iterator<Item = (usize, usize)>,
        node: usize,
        nodes: usize,
    ) -> Vec<(usize, usize)> {
        all.filter(|&(row, column)| Self::owner(row, column, nodes) == node).collect()
    }

    /// Seconds for the product of two blocks.
    fn of_block() -> f64 {
        (Self::SIDE as f64).powi(3) * Self::SECONDS
    }
}

impl Program for Triangles {
    fn name(&self) -> &'static str {
        "LU"
    }
    fn pages(&self) -> usize {
        self.blocks * self.blocks * Self::PAGES
    }
    fn first(&self, node: usize, nodes: usize) -> Vec<Phase> {
        let all =
            (0..self.blocks).flat_map(|row| (0..self.blocks).map(move |column| (row, column)));
        let mine = self.own_blocks(all, node, nodes);
        let writes = mine.into_iter().map(|(row, column)| self.block(row, column)).collect();
        vec![Phase { writes, ..Phase::default() }]
    }
    fn phases(&self) -> usize {
        3 * self.blocks
    }
    fn phase(&self, number: usize, node: usize, nodes: usize) -> Phase {
        let (step, rest) = (number / 3, number / 3 + 1..self.blocks);
        let blocks = |mine: &[(usize, usize)]| -> Vec<Range<usize>> {
            mine.iter().map(|&(row, column)| self.block(row, column)).collect()
        };
        match number % 3 {
            0 => {
                let mine = self.own_blocks(std::iter::once((step, step)), node, nodes);
                let work = mine.len() as f64 * Self::of_block() / 3.0;
                Phase { writes: blocks(&mine), work, threads: 1, ..Phase::default() }
            }
            1 => {
                let all = rest.flat_map(|other| [(step, other), (other, step)]);
                let mine = self.own_blocks(all, node, nodes);
                let reads = if mine.is_empty() { vec![] } else { vec![self.block(step, step)] };
                let work = mine.len() as f64 * Self::of_block() / 2.0;
                Phase { reads, writes: blocks(&mine), work, threads: mine.len() }
            }
            _ => {
                let all =
                    rest.clone().flat_map(|row| rest.clone().map(move |column| (row, column)));
                let mine = self.own_blocks(all, node, nodes);
                let mut reads: Vec<Range<usize>> = Vec::new();
                for &(row, column) in &mine {
                    reads.extend([self.block(row, step), self.block(step, column)]);
                }
                reads.sort_by_key(|range| range.start);
                reads.dedup();
                let work = mine.len() as f64 * Self::of_block();
                Phase { reads, writes: blocks(&mine), work, threads: mine.len() }
            }
        }
    }
    fn work(&self) -> f64 {
        let of_step = |step: usize| {
            let rest = (self.blocks - step - 1) as f64;
            (1.0 / 3.0 + rest + rest * rest) * Self::of_block()
        };
        (0..self.blocks).map(of_step).sum()
    }
}

/// NAS EP, class C: threads only compute, and add their sums at the end.
pub struct Embarrassing;

impl Embarrassing {
    const PAIRS: f64 = 4_294_967_296.0;
    const SECONDS: f64 = 40e-9;
}

impl Program for Embarrassing {
    fn name(&self) -> &'static str {
        "EP"
    }
    /// One page, for the sums of all threads.
    fn pages(&self) -> usize {
        1
    }
    fn first(&self, _: usize, _: usize) -> Vec<Phase> {
        vec![Phase::default()]
    }
    fn phases(&self) -> usize {
        2
    }
    fn phase(&self, number: usize, node: usize, nodes: usize) -> Phase {
        match (number, node) {
            (0, _) => Phase {
                writes: vec![0..1],
                work: self.work() / nodes as f64,
                threads: ALL,
                ..Phase::default()
            },
            (_, 0) => Phase { reads: vec![0..1], ..Phase::default() },
            _ => Phase::default(),
        }
    }
    fn work(&self) -> f64 {
        Self::PAIRS * Self::SECONDS
    }
}

/// NAS CG, class C: each step multiplies a node's rows of a sparse matrix by a vector that is
/// spread over all nodes, and computes two sums over all nodes.
pub struct Gradient {
    /// Number of measured steps.
    pub steps: usize,
}

impl Gradient {
    const ROWS: usize = 150_000;
    const ELEMENTS: usize = 36_000_000;
    /// The number of pages of the matrix: of its values and column numbers.
    const MATRIX: usize = pages(Self::ELEMENTS * 12);
    const VECTOR: usize = pages(Self::ROWS * 8);
    /// The number of pages with sums over all threads, one for each sum.
    const SUMS: usize = 2;
    /// Computing time for an element, in seconds.
    const SECONDS: f64 = 4e-9;
}

impl Program for Gradient {
    fn name(&self) -> &'static str {
        "CG"
    }
    fn pages(&self) -> usize {
        Self::MATRIX + Self::VECTOR + Self::SUMS
    }
    fn first(&self, node: usize, nodes: usize) -> Vec<Phase> {
        let rows = share(Self::MATRIX, node, nodes);
        let vector = moved(share(Self::VECTOR, node, nodes), Self::MATRIX);
        vec![Phase { reads: vec![rows], writes: vec![vector], ..Phase::default() }]
    }
    fn phases(&self) -> usize {
        3 * self.steps
    }
    fn phase(&self, number: usize, node: usize, nodes: usize) -> Phase {
        let sums = Self::MATRIX + Self::VECTOR;
        match number % 3 {
            0 => Phase {
                reads: vec![
                    share(Self::MATRIX, node, nodes),
                    Self::MATRIX..Self::MATRIX + Self::VECTOR,
                ],
                writes: vec![sums..sums + 1],
                work: self.work() / (self.steps * nodes) as f64,
                threads: ALL,
            },
            1 => Phase {
                reads: vec![sums..sums + 1],
                writes: vec![sums + 1..sums + 2],
                ..Phase::default()
            },
            _ => Phase {
                reads: vec![sums + 1..sums + 2],
                writes: vec![moved(share(Self::VECTOR, node, nodes), Self::MATRIX)],
                ..Phase::default()
            },
        }
    }
    fn work(&self) -> f64 {
        self.steps as f64 * Self::ELEMENTS as f64 * Self::SECONDS
    }
}

/// A program of each of the paper's six kinds. Programs whose rounds are alike have few of them.
pub fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(Triangles { blocks: 32 }),
        Box::new(Bodies { bodies: 16_384, steps: 4 }),
        Box::new(Blackscholes { rounds: 10 }),
        Box::new(Product { name: SMALL_PRODUCT, side: 2000 }),
        Box::new(Embarrassing),
        Box::new(Gradient { steps: 5 }),
    ]
}

/// The name of the product of the paper's smaller matrices, of 2000 rows.
pub const SMALL_PRODUCT: &str = "MM 2000";
/// The name of the product of the paper's larger matrices, of 5000 rows.
pub const LARGE_PRODUCT: &str = "MM 5000";

/// The product of the paper's larger matrices.
pub fn large_product() -> Product {
    Product { name: LARGE_PRODUCT, side: 5000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_share_the_work_and_touch_existing_pages() {
        for program in all() {
            for nodes in [1, 3, 8, 128] {
                let mut work = 0.0;
                for node in 0..nodes {
                    let phases = (0..program.phases()).map(|n| program.phase(n, node, nodes));
                    for phase in phases.chain(program.first(node, nodes)) {
                        let mut touched = phase.reads.iter().chain(&phase.writes);
                        assert!(touched.all(|range| range.end <= program.pages()));
                    }
                    work += (0..program.phases())
                        .map(|n| program.phase(n, node, nodes).work)
                        .sum::<f64>();
                }
                let right = (work / program.work() - 1.0).abs() < 0.01;
                assert!(right, "{}, {nodes}: {work}", program.name());
            }
        }
    }

    #[test]
    fn each_block_of_a_triangulation_is_written_by_its_owner_alone() {
        let program = Triangles { blocks: 6 };
        for number in 0..program.phases() {
            let mut written = vec![0; program.pages()];
            for node in 0..6 {
                let phase = program.phase(number, node, 6);
                phase.writes.into_iter().flatten().for_each(|page| written[page] += 1);
            }
            assert!(written.iter().all(|times| *times <= 1), "phase {number}");
        }
    }
}
