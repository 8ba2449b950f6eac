//! Summarises many samples: their median, their quartiles, how many are far off, and the mean of
//! the middle half.
//!
//! Disturbances, such as an interrupt, another thread, or a hypervisor that takes the processor
//! away, make a measurement longer, sometimes much longer. So the median, not the mean, represents
//! the samples. Samples far above the others are counted, since many of them mean that the machine
//! is busy.

use serde::{Serialize, Serializer};

use crate::order::{quantile, sorted};

/// A sample is far off if it is above the upper quartile by more than `FENCE` interquartile ranges
/// (Tukey's outer fence), and above [`FAR`] times the median.
const FENCE: f64 = 3.0;
/// The second condition for a sample that is far off, see [`FENCE`]. If most samples are equal, the
/// fence alone would count samples that are longer by one tick of a coarse clock.
const FAR: f64 = 1.5;

/// A summary of many samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The median.
    #[serde(serialize_with = "hundredths")]
    pub median: f64,
    /// The lower quartile.
    #[serde(serialize_with = "hundredths")]
    pub low: f64,
    /// The upper quartile.
    #[serde(serialize_with = "hundredths")]
    pub high: f64,
    /// How many samples there are.
    pub samples: usize,
    /// How many of them are far above the others.
    pub outliers: usize,
}

impl Summary {
    /// Summarises these samples; `None` if there are none.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let sorted = sorted(samples);
        let (low, median, high) =
            (quantile(&sorted, 0.25)?, quantile(&sorted, 0.5)?, quantile(&sorted, 0.75)?);
        let limit = (high + FENCE * (high - low)).max(FAR * median);
        let outliers = sorted.iter().filter(|&&sample| sample > limit).count();
        Some(Summary { median, low, high, samples: sorted.len(), outliers })
    }

    /// Half the interquartile range: about half of the samples are within this distance of the
    /// median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// Rounds to hundredths: more digits would be noise.
fn hundredths<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((value * 100.0).round() / 100.0)
}

/// The mean of the samples from the lower to the upper quartile; `None` if there are no samples.
/// This mean is robust: almost a quarter of the samples may be disturbed. With a coarse clock, the
/// median is a tick or halfway between two; this mean can be anywhere between two ticks.
pub fn middle_mean(samples: &[f64]) -> Option<f64> {
    let of = Summary::of(samples)?;
    let middle = samples.iter().filter(|sample| (of.low..=of.high).contains(sample));
    Some(middle.clone().sum::<f64>() / middle.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_half_stands_for_all() {
        let summary = Summary::of(&[5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!((summary.low, summary.median, summary.high), (2.0, 3.0, 4.0));
        assert_eq!((summary.spread(), summary.samples, summary.outliers), (1.0, 5, 0));
        assert_eq!(Summary::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn interrupted_samples_are_counted_and_move_nothing() {
        let mut samples = vec![100.0; 97];
        samples.extend([150.0, 5_000.0, 90_000.0]);
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.median, summary.high), (100.0, 100.0));
        assert_eq!(summary.outliers, 2, "and 150 is the jitter of a clock");
    }

    #[test]
    fn the_mean_of_the_middle_is_between_the_steps_of_a_clock() {
        // Samples of a clock that advances in steps of ten; the last one was interrupted.
        let samples = [20.0, 20.0, 20.0, 30.0, 9_000.0];
        assert_eq!(middle_mean(&samples), Some(22.5));
        assert_eq!(middle_mean(&[7.0]), Some(7.0));
        assert_eq!(middle_mean(&[]), None);
    }

    #[test]
    fn a_wide_spread_has_no_outliers_of_its_own() {
        let samples: Vec<f64> = (100..200).map(f64::from).collect();
        assert_eq!(Summary::of(&samples).unwrap().outliers, 0);
    }
}
