//! Ways to damage a file.

use fastrand::Rng;

/// Values with which arithmetic may go wrong, and sizes close to that of the file.
pub fn special_values(size: u64) -> Vec<u64> {
    let mut values = vec![0, 1, 2, 7, 8, 23, 24, 255, 4096, 65_536, size - 1, size, size + 1];
    for bits in [16, 31, 32, 47, 48, 63] {
        values.extend([(1 << bits) - 1, 1 << bits]);
    }
    values.extend([u64::MAX, u64::MAX - 63, u64::MAX - 65_535]);
    values
}

/// Stores the low `width` bytes of a value at an offset, up to the end of the file.
pub fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    let end = (at + width).min(bytes.len());
    bytes[at.min(end)..end].copy_from_slice(&value.to_ne_bytes()[..end - at.min(end)]);
}

/// The bytes of a file after one to four random changes, which follow from the seed. About half of
/// them are at one of the given offsets, the others at any.
pub fn damaged(whole: &[u8], places: &[usize], seed: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(seed);
    let mut bytes = whole.to_vec();
    for _ in 0..random.usize(1..=4) {
        damage(&mut bytes, places, &mut random);
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, places: &[usize], random: &mut Rng) {
    let length = bytes.len();
    let named = places[random.usize(..places.len())];
    let at = if random.bool() && named < length { named } else { random.usize(..length) };
    match random.u32(..7) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.u32(..8),
        2 => bytes[at] = random.u8(..),
        3 => {
            let values = special_values(length as u64);
            let width = if random.bool() { 4 } else { 8 };
            put(bytes, at & !3, width, values[random.usize(..values.len())]);
        }
        // A piece is copied over another one.
        4 => {
            let end = (at + random.usize(1..=512)).min(length);
            let target = random.usize(..=length - (end - at));
            bytes.copy_within(at..end, target);
        }
        // A piece is removed, so that everything after it moves.
        5 => drop(bytes.drain(at..(at + random.usize(1..=64)).min(length))),
        // A piece is filled with one byte.
        _ => {
            let end = (at + random.usize(1..=256)).min(length);
            bytes[at..end].fill(if random.bool() { 0xff } else { 0 });
        }
    }
}
