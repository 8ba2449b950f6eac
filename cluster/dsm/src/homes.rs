//! Where lines live: which rank's memory has a line's bytes and its directory entry.
//!
//! The table of homes has a word for each line, which is `NONE` until a rank touches the line. If
//! lines are interleaved or in blocks, each line has a slot that is kept for it, at the rank that the
//! placement wants. The first rank that touches the line writes rank and slot into the word, by a
//! compare-and-swap.
//!
//! Other lines get a slot when they are claimed: with first touch, at the first rank that touches the
//! line; and lines that the program places by hand before any rank touches them. The rank that claims
//! the line changes its word from `NONE` to `CLAIMED`, takes a free slot at the wanted rank, and
//! writes rank and slot into the word. Other ranks that touch the line wait until the word has them.
//! If the wanted rank is full, the line goes to the next rank that is not full, or to the slot that
//! is kept for it.
//!
//! A home never moves, so each node caches the homes that it has learnt.

use syncline_fabric::{Dead, Fabric, Position, Swap};

use crate::shape::{Control, Layout, Shape};

/// The rank that a line lives at, unless the program places the line by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Consecutive lines at consecutive ranks, in turn.
    #[default]
    Interleaved,
    /// A block of consecutive lines at each rank.
    Blocks,
    /// At the rank that touches the line first.
    FirstTouch,
}

impl Placement {
    /// All placements.
    pub const ALL: [Placement; 3] =
        [Placement::Interleaved, Placement::Blocks, Placement::FirstTouch];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Interleaved => "interleaved",
            Placement::Blocks => "blocks",
            Placement::FirstTouch => "first-touch",
        }
    }
}

/// A line's home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The rank.
    pub rank: usize,
    /// The number of the line among the lines that live at that rank.
    pub slot: usize,
}

const NONE: u64 = 0;
const CLAIMED: u64 = u64::MAX;
const SLOT: u32 = 40;

impl Home {
    fn bits(self) -> u64 {
        (self.slot as u64 + 1) | (self.rank as u64) << SLOT
    }

    fn from_bits(bits: u64) -> Home {
        let slot = (bits & ((1 << SLOT) - 1)) as usize - 1;
        Home { rank: (bits >> SLOT) as usize, slot }
    }
}

/// The homes that a node knows.
#[derive(Debug)]
pub struct Homes {
    placement: Placement,
    shape: Shape,
    layout: Layout,
    /// Each line's word in the table of homes, or `NONE` if this node has not read it.
    known: Vec<u64>,
}

impl Homes {
    /// A table in which no home is known yet.
    pub fn new(shape: &Shape, placement: Placement) -> Homes {
        Homes { placement, shape: *shape, layout: shape.layout(), known: vec![NONE; shape.lines] }
    }

    /// The slots of each rank that are kept for certain lines. They come before the others.
    pub fn kept(&self) -> usize {
        match self.placement {
            Placement::Interleaved | Placement::Blocks => self.shape.share(),
            Placement::FirstTouch => 0,
        }
    }

    /// A line's home, if this node knows it.
    pub fn known(&self, line: usize) -> Option<Home> {
        (self.known[line] != NONE).then(|| Home::from_bits(self.known[line]))
    }

    /// If this node does not know a line's home, and the line has a slot that is kept for it: that
    /// slot, and the exchange that makes it the line's home if the line has none.
    /// [`learn`](Self::learn) takes the performed exchange.
    pub fn guess(&self, line: usize) -> Option<(Home, Swap)> {
        let home = self.kept_for(line).filter(|_| self.known[line] == NONE)?;
        Some((home, Swap::new(self.layout.home(&self.shape, line), NONE, home.bits())))
    }

    /// Learns a line's home from a performed exchange of [`guess`](Self::guess).
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn learn(
        &mut self,
        fabric: &impl Fabric,
        line: usize,
        exchange: &Swap,
    ) -> Result<Home, Dead> {
        self.known[line] = match exchange.found {
            NONE => exchange.new,
            seen => settled(fabric, exchange.at, seen)?,
        };
        Ok(Home::from_bits(self.known[line]))
    }

    /// The slot that is kept for a line.
    fn kept_for(&self, line: usize) -> Option<Home> {
        let (ranks, share) = (self.shape.ranks, self.shape.share());
        match self.placement {
            Placement::Interleaved => Some(Home { rank: line % ranks, slot: line / ranks }),
            Placement::Blocks => Some(Home { rank: line / share, slot: line % share }),
            Placement::FirstTouch => None,
        }
    }

    /// Returns a line's home. If the line has none, this gives it one.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn of(&mut self, fabric: &impl Fabric, line: usize) -> Result<Home, Dead> {
        if let Some((_, mut exchange)) = self.guess(line) {
            exchange.perform_on(fabric)?;
            return self.learn(fabric, line, &exchange);
        }
        if self.known[line] == NONE {
            self.known[line] = self.claim(fabric, line, fabric.rank())?;
        }
        Ok(Home::from_bits(self.known[line]))
    }

    /// Gives a line a home at this rank, and returns the line's home. If the line had a home
    /// already, or if the rank is full, the returned home may be at another rank.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn place(&mut self, fabric: &impl Fabric, line: usize, rank: usize) -> Result<Home, Dead> {
        self.known[line] = self.claim(fabric, line, rank)?;
        Ok(Home::from_bits(self.known[line]))
    }

    /// Returns the line's word in the table of homes. If the word is `NONE`, this rank claims the
    /// line, takes a slot, and writes the word.
    fn claim(&self, fabric: &impl Fabric, line: usize, wanted: usize) -> Result<u64, Dead> {
        let word = self.layout.home(&self.shape, line);
        match fabric.compare_and_swap(word, NONE, CLAIMED)? {
            NONE => {
                let home = self.take(fabric, line, wanted)?.bits();
                fabric.store(word, home)?;
                Ok(home)
            }
            seen => settled(fabric, word, seen),
        }
    }

    /// Takes a slot for a line at the wanted rank, or else at the first rank after it that is not
    /// full, or else the slot that is kept for the line.
    fn take(&self, fabric: &impl Fabric, line: usize, wanted: usize) -> Result<Home, Dead> {
        let kept = self.kept_for(line);
        if let Some(home) = kept.filter(|home| home.rank == wanted) {
            return Ok(home);
        }
        let first = self.kept();
        for rank in (wanted..self.shape.ranks).chain(0..wanted) {
            let count: Position = self.layout.control(rank, Control::Lines);
            // The counter is loaded first, so that the counter of a full rank does not grow.
            if first + (fabric.load(count)? as usize) < self.shape.capacity() {
                let slot = first + fabric.add(count, 1)? as usize;
                if slot < self.shape.capacity() {
                    return Ok(Home { rank, slot });
                }
            }
        }
        Ok(kept.expect("if no slots are kept, all ranks together have room for all lines"))
    }
}

/// Returns the line's word in the table of homes, once the rank that claims the line has written it.
fn settled(fabric: &impl Fabric, word: Position, mut seen: u64) -> Result<u64, Dead> {
    let mut looks = 1;
    while seen == CLAIMED {
        fabric.pause(word, looks);
        looks += 1;
        seen = fabric.load(word)?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use syncline_fabric::Host;

    use super::*;

    const RANKS: usize = 3;

    fn shape() -> Shape {
        Shape { log: 16, locks: 3, nodes: 64, page: 64, ..Shape::real(RANKS, 40 * 4096, 1) }
    }

    /// No two lines have the same slot, wherever the program places them; and every rank finds the
    /// same homes.
    #[test]
    fn lines_have_slots_of_their_own() {
        let (shape, layout) = (shape(), shape().layout());
        for (placement, seed) in
            Placement::ALL.into_iter().flat_map(|one| (0..20).map(move |n| (one, n)))
        {
            let all = Host::threads(RANKS, layout.bytes, |host| {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut homes = Homes::new(&shape, placement);
                for _ in 0..rng.usize(0..60) {
                    // All at one rank, or anywhere.
                    let rank = if seed % 2 == 0 { 1 } else { rng.usize(0..RANKS) };
                    let line = rng.usize(0..shape.lines);
                    homes.place(&host, line, rank).unwrap();
                }
                let of = |line| homes.of(&host, line).unwrap();
                (0..shape.lines).map(of).collect::<Vec<_>>()
            });
            let all = all.expect("parts");
            assert!(all.iter().all(|homes| *homes == all[0]), "{placement:?} {seed}");
            let slots: HashSet<_> = all[0].iter().map(|home| (home.rank, home.slot)).collect();
            assert_eq!(slots.len(), shape.lines, "{placement:?} {seed}: a slot has two lines");
            assert!(all[0].iter().all(|home| home.slot < shape.capacity()));
        }
    }

    #[test]
    fn a_line_that_is_being_placed_is_waited_for() {
        let (shape, layout) = (shape(), shape().layout());
        let word = layout.home(&shape, 7);
        let home = Home { rank: 2, slot: 21 };
        let found = Host::threads(2, layout.bytes, |host| {
            let mut homes = Homes::new(&shape, Placement::Interleaved);
            if host.rank() == 0 {
                host.store(word, CLAIMED).unwrap();
                host.rest(Duration::from_millis(20));
                host.store(word, home.bits()).unwrap();
            }
            while host.load(word).unwrap() == NONE {
                host.pause(word, 30);
            }
            homes.of(&host, 7).unwrap()
        });
        assert_eq!(found.expect("parts"), [home; 2]);
    }
}
