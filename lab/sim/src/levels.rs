//! The levels of a core's own caches: which of the lines that it has are near, and which have been
//! pushed out by others since.
//!
//! Each level is a number of sets, in which the line that was used longest ago makes room for a
//! new one. Which cache has a line in which state is the business of [`Line`](crate::line::Line):
//! what is pushed out of the last level here stays the core's by that, and comes back from the
//! last-level cache.

use crate::machine::Machine;

/// Places of a set. Real ones have 2 to 24; by the order of first use, lines are spread so evenly
/// over the sets that it hardly matters.
const WAYS: usize = 8;

/// A level of all cores of a machine.
struct Level {
    /// A power of two.
    sets: usize,
    /// By core and set: numbers of lines, from 1 on, the latest first; 0 where there is none.
    lines: Vec<u32>,
}

/// All levels.
pub struct Levels(Vec<Level>);

impl Levels {
    pub fn of(machine: &Machine) -> Levels {
        let level = |lines: &usize| {
            // Rounded down to what the sets take.
            let sets = 1 << (lines / WAYS).max(1).ilog2();
            Level { sets, lines: vec![0; machine.caches() * sets * WAYS] }
        };
        Levels(machine.private_lines().iter().map(level).collect())
    }

    /// Which level a core finds a line in, from 0 on, or how many there are if in none. It is in
    /// all of them then.
    #[inline]
    pub fn touch(&mut self, cache: usize, line: u32) -> usize {
        let wanted = line + 1;
        for (number, level) in self.0.iter_mut().enumerate() {
            let set = cache * level.sets + (line as usize & (level.sets - 1));
            let ways = &mut level.lines[set * WAYS..][..WAYS];
            if ways[0] == wanted {
                return number;
            }
            let found = ways.iter().position(|&there| there == wanted);
            ways[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
            ways[0] = wanted;
            if found.is_some() {
                return number;
            }
        }
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
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

    #[test]
    fn a_machine_without_sizes_has_everything_near() {
        let clusters = Machine::named("clusters").unwrap();
        let mut levels = Levels::of(&clusters);
        assert_eq!((levels.touch(0, 7), levels.touch(0, 7)), (0, 0));
    }
}
