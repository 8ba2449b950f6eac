//! Throughputs of the locks in a situation.

use syncline_sim::Machine;

use super::situation::{LOCKS, Situation, Work};
use crate::figures::load;
use crate::lab::{Effort, Lab};
use crate::stress::contenders::Contender;
use crate::stress::{Homes, Load, Pause};
use crate::world::{Elsewhere, World};

/// A lock's throughput for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// The name of the lock.
    pub lock: &'static str,
    /// Operations per second, one result for each seed.
    pub per_second: Vec<f64>,
}

impl Rate {
    /// The average over the seeds.
    pub fn mean(&self) -> f64 {
        self.per_second.iter().sum::<f64>() / self.per_second.len() as f64
    }

    /// The speed of this lock relative to another one: the least ratio of the seeds, the ratio of
    /// the averages, and the greatest ratio of the seeds.
    pub fn over(&self, other: &Rate) -> [f64; 3] {
        let ratios = self.per_second.iter().zip(&other.per_second).map(|(a, b)| a / b);
        let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(least, most), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        [least, self.mean() / other.mean(), most]
    }
}

/// The number of seeds of a full measurement, and of a quick one.
const SEEDS: (u64, u64) = (5, 2);

/// Measures all locks in a situation; `None` if the situation does not exist on the machine.
pub fn rates(lab: &Lab, machine: &Machine, situation: &Situation) -> Option<Vec<Rate>> {
    let world = &Elsewhere(machine);
    let threads = situation.threads.on(&machine.description)?;
    let contenders = Contender::named(&LOCKS);
    let seeds = if lab.effort == Effort::Full { SEEDS.0 } else { SEEDS.1 };
    // Each seed is measured as a separate point, so that `measure` does not average over the seeds.
    let each = Lab { effort: lab.effort.min(Effort::Quick), ..*lab };
    let points: Vec<_> =
        contenders.iter().flat_map(|c| (0..seeds).map(move |seed| (c, seed))).collect();
    let values = each.measure::<Elsewhere<'_>, _>(&points, |(contender, number), seed| {
        run(&each, world, contender, threads, situation.work, seed + number)
    });
    let found = values.chunks(seeds as usize).zip(&contenders);
    Some(found.map(|(of, c)| Rate { lock: c.name, per_second: of.to_vec() }).collect())
}

fn run<W: World>(
    lab: &Lab,
    world: &W,
    contender: &Contender<W>,
    threads: usize,
    work: Work,
    seed: u64,
) -> f64 {
    match work {
        Work::Locks(locks) => {
            let load = load::<W>(lab, threads, locks, seed);
            (contender.throughput)(world, &load).per_second
        }
        Work::Table(shape) => {
            let load = load::<W>(lab, threads, 1, seed);
            let load = Load { pause: Pause::None, homes: Homes::Machine, ..load };
            (contender.table)(world, shape, &load).per_second
        }
    }
}
