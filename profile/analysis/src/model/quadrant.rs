//! SyncPerf's quadrants (figure 1): a lock that is seldom taken may still be contended, and
//! one that is never contended may still be taken too often.

use serde::Serialize;

use super::thresholds::Thresholds;

/// The quadrant of a lock or a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quadrant {
    /// High contention, few acquisitions: long critical sections.
    Q1,
    /// High contention, many acquisitions.
    Q2,
    /// Low contention, few acquisitions: harmless.
    Q3,
    /// Low contention, many acquisitions: the cost of locking itself.
    Q4,
}

impl Quadrant {
    /// The quadrant for a contention (a share from 0 to 1) and a number of acquisitions in a
    /// second. A value equal to its threshold counts as low.
    pub fn of(contention: f64, acquisitions_per_second: f64, thresholds: &Thresholds) -> Quadrant {
        let contended = contention > thresholds.contention;
        let busy = acquisitions_per_second > thresholds.acquisitions_per_second;
        match (contended, busy) {
            (true, false) => Quadrant::Q1,
            (true, true) => Quadrant::Q2,
            (false, false) => Quadrant::Q3,
            (false, true) => Quadrant::Q4,
        }
    }
}

/// The number of locks, or of call sites, in each quadrant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "they are the variants of Quadrant")]
pub struct QuadrantCounts {
    pub q1: usize,
    pub q2: usize,
    pub q3: usize,
    pub q4: usize,
}

impl FromIterator<Quadrant> for QuadrantCounts {
    fn from_iter<I: IntoIterator<Item = Quadrant>>(quadrants: I) -> Self {
        let mut counts = QuadrantCounts::default();
        for quadrant in quadrants {
            match quadrant {
                Quadrant::Q1 => counts.q1 += 1,
                Quadrant::Q2 => counts.q2 += 1,
                Quadrant::Q3 => counts.q3 += 1,
                Quadrant::Q4 => counts.q4 += 1,
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_quadrants_and_their_borders() {
        let of = |contention, rate| Quadrant::of(contention, rate, &Thresholds::default());
        assert_eq!(of(0.11, 1000.0), Quadrant::Q1);
        assert_eq!(of(0.11, 1000.1), Quadrant::Q2);
        assert_eq!(of(0.10, 1000.0), Quadrant::Q3);
        assert_eq!(of(0.10, 1000.1), Quadrant::Q4);
    }

    #[test]
    fn published_bugs_are_in_the_papers_quadrants() {
        let of = |contention, rate| Quadrant::of(contention, rate, &Thresholds::default());
        assert_eq!(of(0.867, 0.3), Quadrant::Q1, "canneal");
        assert_eq!(of(0.136, 23_531.0), Quadrant::Q2, "dedup-I");
        assert_eq!(of(0.0, 44_185_000.0), Quadrant::Q4, "fluidanimate-I");
    }
}
