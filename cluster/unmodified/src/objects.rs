//! The objects of the program that synchronize threads, by their addresses: a mutex, a condition
//! variable, and so on.
//!
//! The object's own bytes are in global memory, of which each rank has a copy; so they can't say
//! whether a mutex is held. That is in words which all ranks see, in a table with a row for each
//! address. An object is in its idle state if all words of its row are zero, so an object with a
//! static initialiser needs no call. A row stays with its address when the object is destroyed.

use crate::fail::refuse;
use crate::signals;
use crate::words::{Word, program};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mutex = 1,
    Condition = 2,
    ReaderWriter = 3,
    Barrier = 4,
    Semaphore = 5,
    Once = 6,
}

/// Rows for each rank.
const ROWS: usize = 1 << 18;
/// Bytes of a row.
const ROW: usize = 64;
/// The value of a row's kind while a rank makes it a row of another kind.
const CHANGES: u64 = u64::MAX;

const ADDRESS: usize = 0;
const KIND: usize = 1;
/// The words of a row that depend on its kind.
const STATE: std::ops::Range<usize> = 2..8;

/// The first row's position in a rank's words, and the bytes of all rows.
const FIRST: usize = (signals::FIRST + signals::BYTES).next_multiple_of(ROW);
const BYTES: usize = ROWS * ROW;
const _: () = assert!(FIRST + BYTES <= syncline_dsm::program::UNMODIFIED);

/// The words of an object. Each kind has up to six of them.
#[derive(Clone, Copy, Debug)]
pub struct Object(Word);

impl Object {
    /// One of the object's words, from 0.
    pub fn word(self, number: usize) -> Word {
        self.0.plus(STATE.start + number)
    }

    /// The object at this address. If an object of another kind was there before, this is a new
    /// one.
    pub fn at<T>(address: *const T, kind: Kind) -> Object {
        let object = Object(row(address.addr() as u64));
        loop {
            match object.0.plus(KIND).load() {
                known if known == kind as u64 => return object,
                CHANGES => std::thread::yield_now(),
                other => {
                    if object.0.plus(KIND).exchange(other, CHANGES) {
                        object.clear();
                        object.0.plus(KIND).store(kind as u64);
                    }
                }
            }
        }
    }

    /// A new object at this address, in its idle state.
    pub fn new<T>(address: *const T, kind: Kind) -> Object {
        let object = Object::at(address, kind);
        object.clear();
        object
    }

    fn clear(self) {
        STATE.for_each(|number| self.0.plus(number).store(0));
    }
}

/// The row of an address. Takes a free one if the address has none.
fn row(address: u64) -> Word {
    let ranks = program().ranks();
    let rows = ROWS * ranks;
    // The odd number spreads addresses (Fibonacci hashing).
    let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    for step in 0..rows {
        let number = (hash as usize + step) % rows;
        let row = Word::of(number % ranks, FIRST + number / ranks * ROW);
        let owner = row.plus(ADDRESS);
        match owner.load() {
            known if known == address => return row,
            0 if owner.exchange(0, address) || owner.load() == address => return row,
            _ => {}
        }
    }
    refuse(&format!("functions for more than {rows} mutexes and other objects"))
}
