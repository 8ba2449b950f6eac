//! What is on its way between ranks, and what it does to a part.

use std::ops::Range;

use crate::fabric::{Change, Position};

const WORD: usize = size_of::<u64>();
/// Into this many pieces an operation breaks at most.
pub(super) const PIECES: usize = 3;

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Put,
    Get,
    Swap { old: u64, new: u64 },
    Fetch { change: Change, operand: u64 },
}

/// An operation on its way.
#[derive(Debug)]
pub(super) struct Operation {
    pub origin: usize,
    pub at: Position,
    pub kind: Kind,
    /// What is put, or was got.
    pub data: Vec<u8>,
    /// What the word held.
    pub was: u64,
    /// Where its pieces end in the data, of which the first begins at 0; without data, one piece.
    ends: [usize; PIECES],
    /// Pieces that have not taken effect.
    pub left: usize,
    /// The target was dead.
    pub failed: bool,
}

impl Operation {
    pub(super) fn new(origin: usize, at: Position, kind: Kind, data: Vec<u8>) -> Operation {
        Operation { origin, at, kind, data, was: 0, ends: [0; PIECES], left: 0, failed: false }
    }

    /// Breaks it into pieces, at words of its target, and returns how many.
    pub(super) fn break_up(&mut self, random: &mut fastrand::Rng) -> usize {
        let length = self.data.len();
        let to_first_word = (WORD - self.at.at % WORD) % WORD;
        let words = length.saturating_sub(to_first_word) / WORD;
        self.left = if words == 0 { 1 } else { random.usize(1..=PIECES.min(words + 1)) };
        let mut cuts: [usize; PIECES] = [length; PIECES];
        for cut in &mut cuts[..self.left - 1] {
            *cut = (to_first_word + random.usize(0..=words) * WORD).min(length);
        }
        cuts[..self.left].sort_unstable();
        self.ends = cuts;
        self.left
    }

    fn piece(&self, number: usize) -> Range<usize> {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        start..self.ends[number]
    }

    /// A piece takes effect on the target's part. Says whether it may have changed something.
    pub(super) fn take_effect(&mut self, number: usize, part: &mut [u64]) -> bool {
        let piece = self.piece(number);
        match self.kind {
            Kind::Put => {
                let start = self.at.at + piece.start;
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(part);
                bytes[start..start + piece.len()].copy_from_slice(&self.data[piece]);
                true
            }
            Kind::Get => {
                let start = self.at.at + piece.start;
                let bytes: &[u8] = bytemuck::cast_slice(part);
                self.data[piece.clone()].copy_from_slice(&bytes[start..start + piece.len()]);
                false
            }
            Kind::Swap { old, new } => {
                let word = &mut part[self.at.at / WORD];
                self.was = *word;
                if *word == old {
                    *word = new;
                }
                self.was == old
            }
            Kind::Fetch { change, operand } => {
                let word = &mut part[self.at.at / WORD];
                self.was = *word;
                *word = change.apply(*word, operand);
                change != Change::Keep
            }
        }
    }

    /// The bytes that come back.
    pub(super) fn answer(&self) -> usize {
        if matches!(self.kind, Kind::Get) { self.data.len() } else { 0 }
    }

    /// The bytes that go there.
    pub(super) fn request(&self) -> usize {
        if matches!(self.kind, Kind::Put) { self.data.len() } else { 0 }
    }
}
