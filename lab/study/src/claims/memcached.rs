//! Section 6.4: memcached (S18), from the model of figure 12.

use super::check::{Part, SAME, that};
use crate::figure::Book;
use crate::figures::memcached::{LOADS, gain};
use crate::figures::sentence::number;
use crate::target::MACHINES;

/// The paper's gains: from 29 to 50 % on three of the four machines.
const WON: (f64, f64, usize) = (0.29, 0.50, 3);

/// Checks S18.
pub fn check(book: &Book) -> Vec<Part> {
    let gains = |load| {
        let of = |machine| Some((machine, gain(book.panel("figure-12", machine)?, load)?.0));
        MACHINES.into_iter().filter_map(of).collect::<Vec<(&str, f64)>>()
    };
    let told = |gains: &[(&str, f64)]| {
        let one = |(machine, gain): &(&str, f64)| format!("{machine} {} %", number(100.0 * gain));
        gains.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let [set, get] = LOADS.map(gains);
    // The paper's statement is about all four machines.
    if set.len() < MACHINES.len() || get.len() < MACHINES.len() {
        return Vec::new();
    }
    let (least, most, machines) = WON;
    let won = set.iter().filter(|(_, gain)| (least..=most).contains(gain)).count();
    let same = get.iter().all(|(_, gain)| gain.abs() <= SAME);
    vec![
        that("sets: other locks win", won >= machines, told(&set), "29 to 50 % on three of four"),
        that("gets: no difference", same, told(&get), "none"),
    ]
}
