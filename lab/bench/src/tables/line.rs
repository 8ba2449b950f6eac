//! Prints a line of output: a name, and the median of some values with its interval.

use crate::statistics::{Spread, spread};

pub fn line(name: &str, values: &[f64], unit: f64) {
    let Spread { median, low, high } = spread(values);
    let [median, low, high] = [median, low, high].map(|value| value / unit);
    println!("  {name:<24}{median:>9.2}   {low:.2} .. {high:.2}");
}
