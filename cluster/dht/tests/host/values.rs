//! Values from which a reader can tell whether they are whole.

use syncline_dht::{Mode, Table};
use syncline_fabric::Fabric;

/// The value of a number. The value's length varies with the number, and all bytes after the number
/// are equal.
pub fn value(number: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + number as usize * 7 % 300, number as u8);
    bytes
}

pub fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().expect("a value begins with its number"))
}

pub fn is_whole(found: &[u8]) -> bool {
    found.len() >= 8 && found == value(number(found))
}

/// Adds one to the number of a key.
pub fn increment<F: Fabric, M: Mode<F>>(table: &Table<F, M>, key: u64) {
    let next = |old: Option<&[u8]>| Some(value(old.map_or(0, number) + 1));
    table.update(&key.to_le_bytes(), next).expect("there is room");
}
