//! What an access of a block has touched in a section, and which values of the words in a log entry
//! would add nothing new. Such an entry is only counted.
//!
//! ```text
//!                   bytes that are all known to be in the set
//!           |<------------------------------------------>|
//!     ......#############################################.......   memory
//!                 |<----------------------->|
//!                 lowest and highest byte that this access has touched
//!                 |<---- window ----->|     where it may begin without going beyond them
//! ```

use super::address_set::{Covered, Hint, Words};
use super::block::{Access, Shape};

/// The effects of one access of a block, over all its runs in a section.
#[derive(Clone, Copy)]
pub struct Touched {
    /// How often it touched something outside of the stack.
    pub accesses: u32,
    /// Whether it was outside of the stack the last time it was replayed.
    pub outside: bool,
    /// Its position in the address set at that time.
    pub hint: Hint,
    /// The address of the lowest byte that it touched outside of the stack.
    pub low: u64,
    /// The address of the highest such byte.
    pub high: u64,
    /// The range of bytes around its address that are all known to be in the set.
    pub covered: Covered,
}

/// The values of a word in a log entry for which the block touches nothing new: `count` values from
/// `first` on.
#[derive(Clone, Copy)]
pub struct Window {
    first: u64,
    count: u64,
}

impl Touched {
    /// An access that has touched nothing yet.
    pub const NOTHING: Touched = Touched {
        accesses: 0,
        outside: false,
        hint: Hint::NONE,
        low: u64::MAX,
        high: 0,
        covered: Covered::NOTHING,
    };

    /// Adds `bytes` bytes of memory from `address` on, which the access has touched.
    #[inline(always)]
    pub fn touch(
        &mut self,
        words: &mut Words,
        access: &Access,
        address: u64,
        bytes: u64,
        stack: (u64, u64),
    ) {
        words.touch(address, bytes, access.how, access.by, &mut self.hint);
        self.outside = address.wrapping_sub(stack.0) >= stack.1.wrapping_sub(stack.0);
        if self.outside {
            self.accesses += 1;
            self.low = self.low.min(address);
            self.high = self.high.max(address.wrapping_add(bytes - 1));
        }
    }

    /// By how many bytes the address of the access may move down and up from `at` without touching
    /// anything new.
    pub fn room(
        &mut self,
        access: &Access,
        at: u64,
        words: &Words,
        stack: (u64, u64),
    ) -> (u64, u64) {
        let Shape::Plain(size) = access.shape else { return (0, 0) };
        let size = u64::from(size);
        if !words.cover(&mut self.covered, at, size, access.how, self.hint) {
            return (0, 0);
        }
        let (mut low, mut high) = self.covered.starts(size);
        if !self.outside {
            (low, high) = (low.max(stack.0), high.min(stack.1 - 1));
        } else {
            (low, high) = (low.max(self.low), high.min(self.high - (size - 1)));
            if at < stack.0 {
                high = high.min(stack.0 - 1);
            } else {
                low = low.max(stack.1);
            }
        }
        (at - low, high - at)
    }
}

impl Window {
    /// The window of all values. (Strictly, it lacks `u64::MAX`.)
    pub const ALL: Window = Window { first: 0, count: u64::MAX };

    #[inline(always)]
    pub fn is_left_by(&self, value: u64) -> bool {
        value.wrapping_sub(self.first) >= self.count
    }

    /// Narrows the window to at most this many values below and above `value`.
    pub fn narrow(&mut self, value: u64, down: u64, up: u64) {
        if self.count == Window::ALL.count {
            *self = Window { first: value.wrapping_sub(down), count: down + up + 1 };
            return;
        }
        let down = down.min(value.wrapping_sub(self.first));
        let up = up.min(self.first.wrapping_add(self.count - 1).wrapping_sub(value));
        *self = Window { first: value.wrapping_sub(down), count: down + up + 1 };
    }
}
