//! The map of a job: which ranks each machine has, and how to reach the machine's agent.
//!
//! ```text
//!   0     MAGIC
//!   8     for each machine: u64 ranks, card                  little-endian
//! ```
//!
//! The ranks of a machine have consecutive numbers, and machines come in the order of their ranks.

use thiserror::Error;

use crate::server::{CARD, Card};

/// "synmap", and the version of this form.
const MAGIC: u64 = u64::from_le_bytes(*b"synmap01");
const ENTRY: usize = 8 + CARD;
/// There are fewer ranks in a job.
const MOST: u64 = 1 << 20;

/// One of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How many ranks it has: 1 or more.
    pub ranks: usize,
    /// How to reach its agent.
    pub card: Card,
}

/// The machines of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map(Vec<Machine>);

/// The error for bytes that are not a map.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this is not a map of ranks on machines")]
pub struct NoMap;

impl Map {
    /// The map of these machines.
    ///
    /// # Panics
    ///
    /// If there is no machine, or one without ranks.
    pub fn new(machines: Vec<Machine>) -> Map {
        assert!(!machines.is_empty(), "a job has at least one machine");
        assert!(
            machines.iter().all(|machine| machine.ranks > 0),
            "a machine has at least one rank"
        );
        Map(machines)
    }

    /// The machines, in the order of their ranks.
    pub fn machines(&self) -> &[Machine] {
        &self.0
    }

    /// The number of ranks on all machines.
    pub fn ranks(&self) -> usize {
        self.first(self.0.len())
    }

    /// The first rank of a machine.
    pub fn first(&self, machine: usize) -> usize {
        self.0[..machine].iter().map(|machine| machine.ranks).sum()
    }

    /// For each rank, its machine.
    pub fn of_ranks(&self) -> Vec<usize> {
        let ranks = |(number, machine): (usize, &Machine)| vec![number; machine.ranks];
        self.0.iter().enumerate().flat_map(ranks).collect()
    }

    /// Encodes the map.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        for machine in &self.0 {
            bytes.extend((machine.ranks as u64).to_le_bytes());
            bytes.extend(machine.card.to_bytes());
        }
        bytes
    }

    /// Decodes a map.
    ///
    /// # Errors
    ///
    /// If the bytes are not a map.
    pub fn from_bytes(bytes: &[u8]) -> Result<Map, NoMap> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(NoMap)?;
        let (entries, more) = rest.as_chunks::<ENTRY>();
        if u64::from_le_bytes(*magic) != MAGIC || entries.is_empty() || !more.is_empty() {
            return Err(NoMap);
        }
        let machine = |entry: &[u8; ENTRY]| {
            let (ranks, card) = entry.split_first_chunk().expect("longer than that");
            let ranks = u64::from_le_bytes(*ranks);
            let card = Card::from_bytes(card.try_into().expect("the rest is a card"));
            (1..MOST).contains(&ranks).then_some(Machine { ranks: ranks as usize, card })
        };
        entries.iter().map(machine).collect::<Option<_>>().map(Map).ok_or(NoMap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Map {
        let card = |port| Card::new(port).expect("a card");
        Map::new(vec![Machine { ranks: 2, card: card(1) }, Machine { ranks: 3, card: card(2) }])
    }

    #[test]
    fn ranks_are_numbered_machine_by_machine() {
        let map = two();
        assert_eq!((map.ranks(), map.first(0), map.first(1)), (5, 0, 2));
        assert_eq!(map.of_ranks(), [0, 0, 1, 1, 1]);
    }

    #[test]
    fn only_a_whole_map_is_decoded() {
        let bytes = two().to_bytes();
        assert_eq!(Map::from_bytes(&bytes), Ok(two_of(&bytes)));
        for length in 0..bytes.len() {
            let whole_entries = length == 8 + ENTRY;
            assert_eq!(Map::from_bytes(&bytes[..length]).is_ok(), whole_entries, "{length}");
        }
        let mut none = bytes.clone();
        none[8] = 0;
        assert_eq!(Map::from_bytes(&none), Err(NoMap), "a machine without ranks");
        let mut other = bytes;
        other[0] ^= 1;
        assert_eq!(Map::from_bytes(&other), Err(NoMap), "another version");
    }

    /// The map that these bytes were made from: cards have random tokens.
    fn two_of(bytes: &[u8]) -> Map {
        let card = |at: usize| Card::from_bytes(bytes[at..at + CARD].try_into().expect("a card"));
        Map::new(vec![
            Machine { ranks: 2, card: card(16) },
            Machine { ranks: 3, card: card(16 + ENTRY) },
        ])
    }
}
