//! The response of a run's time to time that is added to a part of it.
//!
//! The part is made longer by known times of several sizes. For small additions, the extra time of
//! the run is also the gain from making the part a little shorter: a curve without a corner has the
//! same slope in both directions. Coz measures the same effect from the other side, by slowing down
//! everything that is *not* in the part (Curtsinger and Berger, "Coz: finding code that counts with
//! causal profiling", SOSP 2015, sections 2 and 3.4).
//!
//! In each round, a line and a parabola are fitted to the round's values by least squares. Their
//! coefficients are divided by the fitted value without addition, so it does not matter if the
//! machine is slow for a whole round. The result is the median over the rounds, with an interval
//! that assumes nothing about the distribution of the ratios ([`Interval`]).
//!
//! The parabola's slope at zero is right for a curve that bends, but several times as uncertain as
//! the line's. So it is only used if the curve certainly bends. If a curve bends upwards too little
//! to be detected, the line is too steep: it predicts a gain that is too large rather than too
//! small.

use syncline_statistics::Interval;

/// A bend of less than this share of the run is ignored: if values are the same in each round,
/// rounding alone makes a bend.
const NO_BEND: f64 = 0.001;

/// The response of a run's time to additions.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The extra time of the run, as a share of the added time: 1 if the run becomes longer by all
    /// of it, 0 if by none.
    pub slope: Interval,
    /// Whether the curve is straight, or how it bends.
    pub shape: Shape,
    /// How far the curve lies above its tangent at the largest addition, as a share of the run.
    pub bend: Interval,
    /// The number of rounds that the response was computed from.
    pub rounds: usize,
}

/// Whether a curve is straight, or how it bends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No bend is certain.
    Straight,
    /// The curve gets steeper: longer additions have more effect.
    Upwards,
    /// The curve gets flatter: longer additions have less effect.
    Downwards,
}

impl Response {
    /// The response from the costs of runs, which grow as the program gets slower. Each round has
    /// the cost without addition first, then the cost for each size in `added`, which are shares of
    /// the run. Each of the two intervals is wrong with at most the probability `miss`.
    ///
    /// `None` if there are too few rounds for an interval, or fewer than two additions.
    pub fn of(rounds: &[Vec<f64>], added: &[f64], miss: f64) -> Option<Response> {
        if added.len() < 2 {
            return None;
        }
        let at: Vec<f64> = [0.0].iter().chain(added).copied().collect();
        let curves = Curves::over(&at);
        let fits: Vec<Fit> = rounds.iter().map(|costs| curves.through(costs)).collect();
        let interval = |of: fn(&Fit) -> f64| {
            let numbers: Vec<f64> = fits.iter().map(of).collect();
            Interval::of(&numbers, miss)
        };
        let bend = interval(|fit| fit.bend)?;
        let shape = match bend {
            Interval { low, .. } if low > NO_BEND => Shape::Upwards,
            Interval { high, .. } if high < -NO_BEND => Shape::Downwards,
            _ => Shape::Straight,
        };
        let slope = match shape {
            Shape::Straight => interval(|fit| fit.line)?,
            Shape::Upwards | Shape::Downwards => interval(|fit| fit.tangent)?,
        };
        Some(Response { slope, shape, bend, rounds: rounds.len() })
    }

    /// Whether the run certainly responds at all.
    pub fn is_seen(&self) -> bool {
        self.slope.low > 0.0 || self.slope.high < 0.0
    }
}

/// The fit of one round.
struct Fit {
    /// The line's slope, divided by its value at zero.
    line: f64,
    /// The parabola's slope at zero, divided by its value there.
    tangent: f64,
    /// The parabola's distance from its tangent at zero, at the largest addition, divided by its
    /// value at zero.
    bend: f64,
}

/// Least squares over given points, with polynomials that are orthogonal on these: `x - mean`, and
/// `(x - mean)² - skew (x - mean) - spread`.
struct Curves {
    mean: f64,
    skew: f64,
    spread: f64,
    first: Vec<f64>,
    second: Vec<f64>,
    largest: f64,
}

impl Curves {
    fn over(at: &[f64]) -> Curves {
        let count = at.len() as f64;
        let mean = at.iter().sum::<f64>() / count;
        let first: Vec<f64> = at.iter().map(|x| x - mean).collect();
        let squares: f64 = first.iter().map(|p| p * p).sum();
        let skew = first.iter().map(|p| p * p * p).sum::<f64>() / squares;
        let spread = squares / count;
        let second = first.iter().map(|p| p * p - skew * p - spread).collect();
        Curves {
            mean,
            skew,
            spread,
            first,
            second,
            largest: at.iter().copied().fold(0.0, f64::max),
        }
    }

    fn through(&self, costs: &[f64]) -> Fit {
        let along = |of: &[f64]| {
            let product: f64 = of.iter().zip(costs).map(|(p, cost)| p * cost).sum();
            product / of.iter().map(|p| p * p).sum::<f64>()
        };
        let middle = costs.iter().sum::<f64>() / costs.len() as f64;
        let (slope, curve) = (along(&self.first), along(&self.second));
        let line_at_zero = middle - slope * self.mean;
        let second_at_zero = self.mean * self.mean + self.skew * self.mean - self.spread;
        let parabola_at_zero = line_at_zero + curve * second_at_zero;
        Fit {
            line: slope / line_at_zero,
            tangent: (slope - curve * (2.0 * self.mean + self.skew)) / parabola_at_zero,
            bend: curve * self.largest * self.largest / parabola_at_zero,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDED: [f64; 3] = [0.1, 0.2, 0.4];

    /// Rounds of a program whose run takes `curve(added)` times as long as one without addition. A
    /// round is up to twice as slow as another, a run is off by a few percent, and one run in ten
    /// by half.
    fn rounds(count: usize, seed: u64, curve: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut round = || {
            let machine = 1.0 + random.f64();
            let mut run = |added: f64| {
                let noise = (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 0.04;
                let outlier = if random.f64() < 0.1 { 1.5 } else { 1.0 };
                machine * curve(added) * (1.0 + noise) * outlier
            };
            [0.0].into_iter().chain(ADDED).map(&mut run).collect()
        };
        (0..count).map(|_| round()).collect()
    }

    fn of(rounds: &[Vec<f64>]) -> Response {
        Response::of(rounds, &ADDED, 0.05).expect("enough rounds")
    }

    #[test]
    fn without_noise_the_slope_and_the_bend_are_exact() {
        let exact = |curve: fn(f64) -> f64| {
            let round: Vec<f64> = [0.0].iter().chain(&ADDED).map(|&x| 3.0 * curve(x)).collect();
            of(&vec![round; 8])
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let line = exact(|x| 1.0 + 0.7 * x);
        assert!(close(line.slope.median, 0.7) && close(line.bend.median, 0.0), "{line:?}");
        assert_eq!(line.shape, Shape::Straight, "rounding is no bend");
        let parabola = exact(|x| 1.0 + 0.2 * x + 1.5 * x * x);
        assert_eq!(parabola.shape, Shape::Upwards);
        assert!(close(parabola.slope.median, 0.2), "{parabola:?}");
        assert!(close(parabola.bend.median, 1.5 * 0.16), "{parabola:?}");
        assert_eq!(exact(|x| 1.0 + x - x * x).shape, Shape::Downwards);
    }

    #[test]
    fn a_straight_curve_is_found_in_noise() {
        let response = of(&rounds(15, 3, |x| 1.0 + x));
        assert_eq!(response.shape, Shape::Straight);
        assert!(response.is_seen() && response.slope.low > 0.5, "{response:?}");
    }

    #[test]
    fn of_noise_alone_no_effect_is_seen() {
        let response = of(&rounds(15, 4, |_| 1.0));
        assert!(!response.is_seen() && response.slope.high < 0.5, "{response:?}");
    }

    /// A lock without waits until its sections have become longer.
    #[test]
    fn a_bend_is_seen_and_the_slope_is_the_one_at_zero() {
        let response = of(&rounds(60, 5, |x| 1.0 + 0.1 * x + 4.0 * x * x));
        assert_eq!(response.shape, Shape::Upwards, "{response:?}");
        let line = (4.0 * 0.16 + 0.1 * 0.4) / 0.4;
        assert!(response.slope.median < line / 3.0, "{response:?}");
    }

    #[test]
    fn too_few_rounds_say_nothing() {
        assert_eq!(Response::of(&rounds(5, 6, |x| 1.0 + x), &ADDED, 0.05), None);
        assert_eq!(Response::of(&vec![vec![1.0, 1.1]; 20], &[0.1], 0.05), None);
    }

    /// Wrong shapes of curves, and slopes outside of their interval, occur no more often than
    /// allowed.
    #[test]
    fn intervals_miss_no_more_often_than_they_may() {
        const TRIALS: u64 = 1000;
        let trial = |seed: u64| {
            let response = of(&rounds(10, 100 + seed, |x| 1.0 + 0.5 * x));
            let Interval { low, high, .. } = response.slope;
            (response.shape != Shape::Straight, !(low..=high).contains(&0.5))
        };
        let trials: Vec<(bool, bool)> = (0..TRIALS).map(trial).collect();
        let share = |wrong: fn(&(bool, bool)) -> bool| {
            trials.iter().filter(|trial| wrong(trial)).count() as f64 / TRIALS as f64
        };
        assert!(share(|trial| trial.0) < 0.05, "bends that are none: {}", share(|t| t.0));
        assert!(share(|trial| trial.1) < 0.07, "slopes that are missed: {}", share(|t| t.1));
    }
}
