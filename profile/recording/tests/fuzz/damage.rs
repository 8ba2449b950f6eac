//! Ways to damage a file.

use fastrand::Rng;

/// Values with which arithmetic may go wrong, and sizes close to that of the file.
pub fn special_values(size: u64) -> Vec<u64> {
    let mut values = vec![0, 1, 2, 63, 64, 255, 4096, size - 1, size, size + 1, size / 64];
    for bits in [16, 31, 32, 47, 48, 63] {
        values.extend([(1 << bits) - 1, 1 << bits]);
    }
    // A table's size is in the high 16 bits.
    values.extend([u64::MAX, u64::MAX - 63, 32 << 48, 33 << 48, 20 << 48 | 1, 4 << 48 | 1]);
    values
}

/// Stores the low `width` bytes of a value at an offset, up to the end of the file.
pub fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    let end = (at + width).min(bytes.len());
    bytes[at.min(end)..end].copy_from_slice(&value.to_ne_bytes()[..end - at.min(end)]);
}

/// The bytes of a file after one to four random changes, which follow from the seed.
pub fn damaged(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(seed);
    let mut bytes = whole.to_vec();
    for _ in 0..random.usize(1..=4) {
        damage(&mut bytes, &mut random);
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut Rng) {
    let length = bytes.len();
    let at = random.usize(..length);
    match random.u32(..8) {
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
        // A piece is doubled.
        6 => {
            let piece = bytes[at..(at + random.usize(1..=64)).min(length)].to_vec();
            drop(bytes.splice(at..at, piece));
        }
        // A piece is filled with one byte.
        _ => {
            let end = (at + random.usize(1..=256)).min(length);
            bytes[at..end].fill(if random.bool() { 0xff } else { 0 });
        }
    }
}
