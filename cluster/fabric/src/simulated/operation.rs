//! Operations on their way between ranks, and their effects on a part.

use std::ops::Range;

use crate::fabric::{Change, Position};

const WORD: usize = size_of::<u64>();
/// The most pieces that an operation's data can have.
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
    /// The data of a put, or the data that a get has read.
    pub data: Vec<u8>,
    /// The value of the word before the operation.
    pub was: u64,
    /// The end of each piece in the data. The first piece begins at 0. An operation without data
    /// has one piece.
    ends: [usize; PIECES],
    /// The number of pieces that have not taken effect yet.
    pub left: usize,
    /// Whether the operation failed because the target was dead.
    pub failed: bool,
}

impl Operation {
    pub(super) fn new(origin: usize, at: Position, kind: Kind, data: Vec<u8>) -> Operation {
        Operation { origin, at, kind, data, was: 0, ends: [0; PIECES], left: 0, failed: false }
    }

    /// Cuts the data into pieces, at borders of the target's words, and returns the number of
    /// pieces.
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

    /// Lets a piece take effect on the target's part. Returns whether this may have changed the
    /// part.
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

    /// The number of data bytes in the answer.
    pub(super) fn answer(&self) -> usize {
        if matches!(self.kind, Kind::Get) { self.data.len() } else { 0 }
    }

    /// The number of data bytes in the request.
    pub(super) fn request(&self) -> usize {
        if matches!(self.kind, Kind::Put) { self.data.len() } else { 0 }
    }
}
