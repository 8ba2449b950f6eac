//! Axes: the positions of values and of round numbers along an axis.

/// An axis, between two positions in pixels.
pub struct Scale {
    from: f64,
    to: f64,
    pixels: (f64, f64),
    logarithmic: bool,
}

/// The most intervals into which round numbers divide a linear axis.
const TICKS: f64 = 6.0;

impl Scale {
    /// A linear axis from 0 to the first round number that is at least `most`.
    pub fn from_zero(most: f64, pixels: (f64, f64)) -> Scale {
        let step = step(most);
        let to = (most / step).ceil().max(1.0) * step;
        Scale { from: 0.0, to, pixels, logarithmic: false }
    }

    /// A linear axis from 0 to exactly `most`, or to 1 if `most` is less.
    pub fn to(most: f64, pixels: (f64, f64)) -> Scale {
        Scale { from: 0.0, to: most.max(1.0), pixels, logarithmic: false }
    }

    /// A logarithmic axis between the powers of ten around `least` and `most`.
    pub fn logarithmic(least: f64, most: f64, pixels: (f64, f64)) -> Scale {
        let least = if least > 0.0 && least.is_finite() { least } else { most.max(1.0) / 1e3 };
        let from = least.log10().floor();
        let to = most.max(least).log10().ceil().max(from + 1.0);
        Scale { from: 10f64.powf(from), to: 10f64.powf(to), pixels, logarithmic: true }
    }

    /// The position of a value, in pixels.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(self.from) / self.from).log10() / (self.to / self.from).log10(),
            false => (value - self.from) / (self.to - self.from),
        };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// The round numbers along the axis, with their positions in pixels.
    pub fn ticks(&self) -> Vec<(f64, f64)> {
        let mut ticks = Vec::new();
        let mut value = self.from;
        // The limit is a little beyond the end, since sums of steps are not exact.
        while value <= self.to * 1.000_001 {
            ticks.push((value, self.at(value)));
            value = if self.logarithmic { value * 10.0 } else { value + step(self.to) };
        }
        ticks
    }
}

/// The distance between the round numbers of a linear axis from 0 to `most`: 1, 2 or 5 times a
/// power of ten.
fn step(most: f64) -> f64 {
    let rough = (most / TICKS).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|&s| s >= rough).unwrap_or(rough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_has_round_numbers() {
        let scale = Scale::from_zero(111.0, (100.0, 0.0));
        let values: Vec<f64> = scale.ticks().iter().map(|tick| tick.0).collect();
        assert_eq!(values, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0]);
        assert_eq!((scale.at(0.0), scale.at(60.0), scale.at(120.0)), (100.0, 50.0, 0.0));
    }

    #[test]
    fn a_logarithmic_axis_has_powers_of_ten() {
        let scale = Scale::logarithmic(23.0, 720_000.0, (100.0, 0.0));
        let values: Vec<f64> = scale.ticks().iter().map(|tick| tick.0.round()).collect();
        assert_eq!(values, [10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        assert!((scale.at(1e3) - 60.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_without_values_has_ticks() {
        for scale in [Scale::from_zero(0.0, (1.0, 0.0)), Scale::logarithmic(0.0, 0.0, (1.0, 0.0))] {
            let ticks = scale.ticks();
            assert!((2..20).contains(&ticks.len()), "{ticks:?}");
            assert!(scale.at(0.0).is_finite());
        }
    }
}
