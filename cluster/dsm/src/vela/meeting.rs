//! A barrier of all ranks: each rank increments a counter at the first rank of its machine, and the
//! last rank of a machine to come increments one at rank 0.
//!
//! Counters only grow: barrier `n` is over when every rank has come `n` times. So nothing is reset.
//! The threads of a rank meet first, by the library's barrier.
//!
//! Source: Kaxiras et al. (HPDC'15; their system is called Argo), section 4.1; counters with rounds
//! are from Mellor-Crummey and Scott (TOCS 1991), section 3.1.

use syncline_fabric::{Dead, Fabric, Position};

use crate::shape::{Control, Layout};

/// A rank's side of the barrier.
#[derive(Debug, Default)]
pub struct Meeting {
    rounds: u64,
}

impl Meeting {
    /// Waits until every rank has called this as often as this rank has.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn meet(&mut self, fabric: &impl Fabric, layout: &Layout) -> Result<(), Dead> {
        self.rounds += 1;
        let round = self.rounds;
        let mine = fabric.machine(fabric.rank());
        let (mut near, mut machines, mut first) = (0, 0, None);
        let mut last = None;
        for rank in 0..fabric.ranks() {
            let machine = fabric.machine(rank);
            if machine == mine {
                near += 1;
                first = first.or(Some(rank));
            }
            if last != Some(machine) {
                machines += 1;
                last = Some(machine);
            }
        }
        let first = first.unwrap_or(fabric.rank());
        let over = layout.control(first, Control::Over);
        if fabric.add(layout.control(first, Control::Arrived), 1)? + 1 < round * near {
            return wait(fabric, over, round);
        }
        if machines > 1 {
            let all = layout.control(0, Control::MachinesOver);
            if fabric.add(layout.control(0, Control::Machines), 1)? + 1 == round * machines {
                fabric.store(all, round)?;
            } else {
                wait(fabric, all, round)?;
            }
        }
        fabric.store(over, round)
    }
}

/// Waits until a word is at least this much.
pub fn wait(fabric: &impl Fabric, word: Position, least: u64) -> Result<(), Dead> {
    let mut looks = 1;
    while fabric.load(word)? < least {
        fabric.pause(word, looks);
        looks = looks.saturating_add(1);
    }
    Ok(())
}
