//! A barrier of all ranks. Each rank that comes increments a counter at the first rank of its
//! machine. The last rank of a machine to come increments a counter at rank 0.
//!
//! Counters only grow: barrier `n` is over when every rank has come `n` times. So no counter has to
//! be reset. Before that, the threads of a rank meet at a barrier within their process.
//!
//! Source: Kaxiras et al. (HPDC'15; their system is called Argo), section 4.1; counters with rounds
//! are from Mellor-Crummey and Scott (TOCS 1991), section 3.1.

use std::collections::BTreeSet;

use syncline_fabric::{Dead, Fabric, Position};

use crate::shape::{Control, Layout};

/// A rank's state for the barrier.
#[derive(Debug, Default)]
pub struct Meeting {
    rounds: u64,
    /// This rank's machine, which the first call of [`meet`](Self::meet) determines.
    machine: Option<Machine>,
}

/// A rank's knowledge about its machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Machine {
    /// The machine's first rank.
    first: usize,
    /// How many ranks the machine has.
    ranks: u64,
    /// How many machines there are in all.
    machines: u64,
}

impl Machine {
    /// The machine of rank `own`, if there are this many ranks. The numbers of a machine's ranks
    /// need not be consecutive.
    fn of(own: usize, ranks: usize, machine: impl Fn(usize) -> usize) -> Machine {
        let own = machine(own);
        let mine = || (0..ranks).filter(|&rank| machine(rank) == own);
        let machines: BTreeSet<usize> = (0..ranks).map(&machine).collect();
        Machine {
            first: mine().next().expect("a rank is one of its machine"),
            ranks: mine().count() as u64,
            machines: machines.len() as u64,
        }
    }
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
        let of_rank = |rank| fabric.machine(rank);
        let Machine { first, ranks, machines } = *self
            .machine
            .get_or_insert_with(|| Machine::of(fabric.rank(), fabric.ranks(), of_rank));
        let over = layout.control(first, Control::Over);
        if fabric.add(layout.control(first, Control::Arrived), 1)? + 1 < round * ranks {
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

/// Waits until the value of a word is at least `least`.
pub fn wait(fabric: &impl Fabric, word: Position, least: u64) -> Result<(), Dead> {
    let mut looks = 1;
    while fabric.load(word)? < least {
        fabric.pause(word, looks);
        looks = looks.saturating_add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn the_ranks_of_a_machine_need_not_be_neighbours() {
        let machines = [3, 7, 3, 7, 5];
        let of = |own| Machine::of(own, machines.len(), |rank| machines[rank]);
        assert_eq!(of(2), Machine { first: 0, ranks: 2, machines: 3 });
        assert_eq!(of(3), Machine { first: 1, ranks: 2, machines: 3 });
        assert_eq!(of(4), Machine { first: 4, ranks: 1, machines: 3 });
    }
}
