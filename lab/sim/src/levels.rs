//! The levels of each core's own caches: which lines are in which level, and which lines have been
//! evicted by others.
//!
//! A level consists of sets. In a set, a new line evicts the least recently used one.
//! [`Line`](crate::line::Line) decides which cache has a line in which state. So a line that is
//! evicted from the last of these levels still belongs to the core, but the core has to fetch the
//! line from the last-level cache again.

use crate::machine::Machine;

/// The number of ways of a set. Real caches have 2 to 24. Lines are numbered in the order of their
/// first use, which spreads them so evenly over the sets that the number of ways makes hardly any
/// difference.
const WAYS: usize = 8;

/// A level of caches, for all cores of a machine.
struct Level {
    /// The number of sets of each core, a power of two.
    sets: usize,
    /// The line that was used last in each set, by core and set. Lines are numbered from 1; 0 is an
    /// empty way. In large levels, most sets have one line. So a simulation mostly accesses this
    /// vector, which should fit into the caches of the machine that runs the simulation.
    latest: Vec<u32>,
    /// The other lines of each set, the most recently used first; empty ways come last.
    others: Vec<[u32; WAYS - 1]>,
}

/// All levels of all cores.
pub struct Levels(Vec<Level>);

impl Levels {
    pub fn of(machine: &Machine) -> Levels {
        let level = |lines: &usize| {
            // The number of sets is rounded down to a power of two.
            let sets = 1 << (lines / WAYS).max(1).ilog2();
            let all = machine.caches() * sets;
            Level { sets, latest: vec![0; all], others: vec![[0; WAYS - 1]; all] }
        };
        Levels(machine.private_lines().iter().map(level).collect())
    }

    /// Finds a core's line: returns its level, counted from 0, or the number of levels if none has
    /// the line. Puts the line into all levels that were searched.
    #[inline]
    pub fn touch(&mut self, cache: usize, line: u32) -> usize {
        let wanted = line + 1;
        for (number, level) in self.0.iter_mut().enumerate() {
            let set = cache * level.sets + (line as usize & (level.sets - 1));
            // The line moves to the first way, and each line that was before it moves back by one.
            // If the line was not in the set, all lines of the set move back, and the last one is
            // evicted.
            let mut moved = std::mem::replace(&mut level.latest[set], wanted);
            let mut ways = level.others[set].iter_mut();
            while moved != wanted && moved != 0 {
                let Some(way) = ways.next() else { break };
                std::mem::swap(way, &mut moved);
            }
            if moved == wanted {
                return number;
            }
        }
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::LINE;

    #[test]
    fn the_least_recently_used_line_is_evicted() {
        let opteron = Machine::named("opteron").unwrap();
        let mut levels = Levels::of(&opteron);
        let lines = |bytes: u32| bytes / 64;
        assert_eq!(levels.touch(0, 7), 2, "never used");
        assert_eq!(levels.touch(0, 7), 0);
        assert_eq!(levels.touch(1, 7), 2, "another core");
        (100..100 + lines(64 << 10)).for_each(|line| {
            levels.touch(0, line);
        });
        assert_eq!(levels.touch(0, 7), 1, "as many lines as the first level has were used since");
        assert_eq!(levels.touch(0, 7), 0);
        (100..100 + lines(512 << 10)).for_each(|line| {
            levels.touch(0, line);
        });
        assert_eq!(levels.touch(0, 7), 2);
    }

    /// Compares the levels with a list for each set, which has the latest line first.
    #[test]
    fn a_set_has_the_lines_that_were_used_last() {
        let opteron = Machine::named("opteron").unwrap();
        let mut levels = Levels::of(&opteron);
        let sets = [64 << 10, 512 << 10].map(|bytes| bytes / LINE / WAYS);
        let mut lists = sets.map(|sets| vec![Vec::new(); sets]);
        let mut touched = |line: usize| {
            for (level, lists) in lists.iter_mut().enumerate() {
                let number = line % lists.len();
                let list: &mut Vec<usize> = &mut lists[number];
                let found = list.iter().position(|&there| there == line);
                if let Some(way) = found {
                    list.remove(way);
                }
                list.insert(0, line);
                list.truncate(WAYS);
                if found.is_some() {
                    return level;
                }
            }
            lists.len()
        };
        let mut random = 1_usize;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Forty lines that share one set of the first level, and eight sets of the second.
            let line = (random >> 40) % 40 * sets[0];
            assert_eq!(levels.touch(0, line as u32), touched(line));
        }
    }

    #[test]
    fn a_machine_without_sizes_has_everything_near() {
        let clusters = Machine::named("clusters").unwrap();
        let mut levels = Levels::of(&clusters);
        assert_eq!((levels.touch(0, 7), levels.touch(0, 7)), (0, 0));
    }
}
