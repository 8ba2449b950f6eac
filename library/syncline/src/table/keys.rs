//! The part of a table that a 64-bit key belongs to.
//!
//! Multiples of the golden ratio, modulo 1, spread evenly over a circle. So consecutive keys go to
//! different parts, if there are at least three parts, and fill the parts evenly (Knuth, volume 3,
//! section 6.4).

/// The key's position on the circle, whose circumference is 2^64.
#[inline]
pub fn spread(key: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    key.wrapping_mul(GOLDEN)
}

/// Divides the circle into `arcs` equal arcs. Returns the number of the arc that `place` is in, and
/// the position within that arc, scaled to a whole circle.
#[inline]
pub fn arc(place: u64, arcs: usize) -> (usize, u64) {
    let product = u128::from(place) * arcs as u128;
    ((product >> 64) as usize, product as u64)
}
