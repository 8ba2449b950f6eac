//! Where lines live: which rank's memory has a line's bytes and its directory entry.
//!
//! A line has no home until a rank touches it. The first rank that touches it claims the line's
//! word in the table of homes, by a compare-and-swap from `NONE` to `CLAIMED`. This rank takes a
//! slot at the rank that the placement wants, and writes rank and slot into the word. Other ranks
//! that touch the line wait until the word has them.
//!
//! So one mechanism serves all placements. If lines are interleaved or in blocks, the wanted rank
//! is a function of the line. With first touch, the wanted rank is the one that claims. A program
//! places a line by hand by claiming it before any rank touches it. If the wanted rank is full, the
//! line goes to the next rank that is not full. A home never moves, so each node caches the homes
//! that it has learnt.

use syncline_fabric::{Dead, Fabric, Position};

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
    /// Each line's word in the table of homes, or `NONE` if this node has not read it.
    known: Vec<u64>,
}

impl Homes {
    /// A table in which no home is known yet.
    pub fn new(shape: &Shape, placement: Placement) -> Homes {
        Homes { placement, known: vec![NONE; shape.lines] }
    }

    /// Returns a line's home. If the line has none, this gives it one.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn of(
        &mut self,
        fabric: &impl Fabric,
        shape: &Shape,
        layout: &Layout,
        line: usize,
    ) -> Result<Home, Dead> {
        if self.known[line] == NONE {
            let wanted = match self.placement {
                Placement::Interleaved => line % shape.ranks,
                Placement::Blocks => line / shape.lines.div_ceil(shape.ranks),
                Placement::FirstTouch => fabric.rank(),
            };
            self.known[line] = claim(fabric, shape, layout, line, wanted)?;
        }
        Ok(Home::from_bits(self.known[line]))
    }

    /// Gives a line a home at this rank, and returns the line's home. If the line had a home
    /// already, or if the rank is full, the returned home may be at another rank.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn place(
        &mut self,
        fabric: &impl Fabric,
        shape: &Shape,
        layout: &Layout,
        line: usize,
        rank: usize,
    ) -> Result<Home, Dead> {
        self.known[line] = claim(fabric, shape, layout, line, rank)?;
        Ok(Home::from_bits(self.known[line]))
    }
}

/// Returns the line's word in the table of homes. If the word is `NONE`, this rank claims the line
/// and writes the word.
fn claim(
    fabric: &impl Fabric,
    shape: &Shape,
    layout: &Layout,
    line: usize,
    wanted: usize,
) -> Result<u64, Dead> {
    let word = layout.home(shape, line);
    let mut looks = 1;
    let mut seen = fabric.load(word)?;
    loop {
        match seen {
            NONE => {
                seen = fabric.compare_and_swap(word, NONE, CLAIMED)?;
                if seen == NONE {
                    let home = take(fabric, shape, layout, wanted)?;
                    fabric.store(word, home.bits())?;
                    return Ok(home.bits());
                }
            }
            CLAIMED => {
                fabric.pause(word, looks);
                looks += 1;
                seen = fabric.load(word)?;
            }
            home => return Ok(home),
        }
    }
}

/// Takes the next slot of the wanted rank, or of the first rank after it that is not full. All
/// ranks together have room for all lines.
fn take(fabric: &impl Fabric, shape: &Shape, layout: &Layout, wanted: usize) -> Result<Home, Dead> {
    let mut rank = wanted;
    loop {
        let count: Position = layout.control(rank, Control::Lines);
        // The counter is loaded first, so that the counter of a full rank does not grow.
        if (fabric.load(count)? as usize) < shape.capacity() {
            let slot = fabric.add(count, 1)? as usize;
            if slot < shape.capacity() {
                return Ok(Home { rank, slot });
            }
        }
        rank = (rank + 1) % shape.ranks;
    }
}
