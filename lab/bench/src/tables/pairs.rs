//! Runs two tables in turn, many times. Each pair of runs gives a ratio.
//!
//! A disturbance that lasts for longer than a pair affects both sides, since they run right after
//! each other. The order is reversed in every other pair. From time to time both tables are created
//! again, so that their positions in memory change.

use super::line::line;
use crate::statistics::spread;

/// The number of tables that each side uses, one after another. The first table already exists when
/// the pairs begin.
const PLACES: usize = 3;

/// The speeds of two sides, each by wall time and by processor time.
pub type Pair = [[f64; 2]; 2];

/// Runs side 0 and side 1 in pairs.
pub fn run(pairs: usize, mut once: impl FnMut(usize) -> [f64; 2]) -> Vec<Pair> {
    run_anew(pairs, |side, _| once(side))
}

/// Runs side 0 and side 1 in pairs. The flag that `once` gets says whether the side's table must be
/// created again.
pub fn run_anew(pairs: usize, mut once: impl FnMut(usize, bool) -> [f64; 2]) -> Vec<Pair> {
    let each = pairs.div_ceil(PLACES);
    let pair = |number: usize| {
        let anew = number > 0 && number.is_multiple_of(each);
        let first = number % 2;
        let mut pair = [[0.0; 2]; 2];
        for side in [first, 1 - first] {
            pair[side] = once(side, anew);
        }
        pair
    };
    (0..pairs).map(pair).collect()
}

/// Prints the ratios of side 0 to side 1, for wall time and for processor time. Returns the ratio
/// for wall time.
pub fn print(pairs: &[Pair]) -> f64 {
    let [wall, _] = [("ratio", 0), ("ratio, processor time", 1)].map(|(name, by)| {
        let ratios: Vec<f64> = pairs.iter().map(|[ours, peer]| ours[by] / peer[by]).collect();
        line(name, &ratios, 1.0);
        spread(&ratios).median
    });
    wall
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_alternate_and_are_rebuilt_every_other_pair() {
        let mut order = Vec::new();
        let pairs = run_anew(6, |side, anew| {
            order.push((side, anew));
            [order.len() as f64; 2]
        });
        let both = |first, anew| [(first, anew), (1 - first, anew)];
        let expected = [(0, false), (1, false), (0, true), (1, false), (0, true), (1, false)];
        assert_eq!(order, expected.map(|(first, anew)| both(first, anew)).concat());
        assert_eq!(pairs[1], [[4.0; 2], [3.0; 2]]);
    }
}
