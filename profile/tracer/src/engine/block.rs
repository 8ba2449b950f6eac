//! The description of translated code, by which its log is read.

use super::address_set::How;

/// The most blocks of a cache, which rarely has half as many.
pub const BLOCKS: usize = 1 << 15;

/// A basic block of the program, translated.
///
/// Each time a block runs, it logs an entry. This is the block's number, and at lower addresses
/// some words, which [`Block::accesses`] describes.
pub struct Block {
    /// The address of the block's first instruction in the program.
    pub start: u64,
    /// The address at which the translation is entered.
    pub host: u64,
    /// The distances of the block's instructions from `start`.
    pub steps: Box<[u16]>,
    /// How many of the block's instructions access memory.
    pub memory_steps: u32,
    /// The accesses of the block's instructions, in order.
    pub accesses: Box<[Access]>,
    /// Whether each access has a fixed number of bytes, so that only its address is logged.
    pub is_plain: bool,
}

/// An access of an instruction to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The number of the instruction in the block.
    pub step: u16,
    /// The instruction's address.
    pub by: u64,
    /// Whether the access reads and writes, and in which way.
    pub how: How,
    /// Whether the base of the FS segment is to be added to the address.
    pub in_fs: bool,
    /// The first address, without that base.
    pub address: Address,
    /// Which bytes from that address on are accessed.
    pub shape: Shape,
}

/// The source of an address.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    /// The address is known when the block is translated.
    Known(u64),
    /// The address is a word of the entry, given by its number, plus an offset.
    Slot(u16, i32),
}

/// Which bytes an access touches. Fields of type `u16` are numbers of words in the entry.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A fixed number of bytes.
    Plain(u32),
    /// A string instruction: elements of `size` bytes from the address on, upwards or downwards, up
    /// to the value that the address register had afterwards.
    String {
        /// The value of the register after the instruction.
        after: u16,
        /// The size of an element in bytes.
        size: u32,
    },
    /// The write of a compare-and-exchange. It counts only if the zero flag was set afterwards.
    /// (Otherwise the processor writes back the old value, which changes nothing.)
    Exchange {
        /// A word whose low byte is the zero flag.
        zero: u16,
        /// The number of bytes.
        size: u32,
    },
    /// A bit of a bit string, which may be far from the address.
    Bit {
        /// The number of the bit.
        number: u16,
        /// The size of an operand in bytes. The operand that contains the bit is accessed.
        size: u32,
    },
    /// Those elements of a vector whose bits in a mask are set.
    Elements {
        /// The mask.
        mask: u16,
        /// The size of an element in bytes.
        size: u32,
        /// How many elements there are.
        count: u32,
    },
    /// Consecutive elements, as many as there are bits set in a mask.
    Packed {
        /// The mask.
        mask: u16,
        /// The size of an element in bytes.
        size: u32,
        /// How many bits count.
        count: u32,
    },
    /// All bytes if any bit of a mask is set, otherwise none.
    IfAny {
        /// The mask.
        mask: u16,
        /// How many bits count.
        count: u32,
        /// The number of bytes.
        size: u32,
    },
    /// Elements at the indices that a vector has, if the elements' bits in a mask are set.
    Gather {
        /// The mask.
        mask: u16,
        /// The first word of the vector of indices.
        indices: u16,
        /// The size of an index in bytes.
        index_size: u32,
        /// The factor of an index.
        scale: u32,
        /// The size of an element in bytes.
        size: u32,
        /// How many elements there are.
        count: u32,
    },
}

impl Access {
    /// The first address of the access, computed from the words that the block logged (`slots`).
    #[inline]
    pub fn start(&self, slots: &[u64], fs: u64) -> u64 {
        let at = match self.address {
            Address::Known(address) => address,
            Address::Slot(slot, plus) => slots[usize::from(slot)].wrapping_add_signed(plus.into()),
        };
        if self.in_fs { at.wrapping_add(fs) } else { at }
    }

    /// Calls `touch(address, bytes)` for each piece of memory that was accessed. `at` is the
    /// access's first address, and `slots` are the words that the block logged.
    pub fn other_pieces(&self, at: u64, slots: &[u64], touch: &mut dyn FnMut(u64, u64)) {
        let slot = |n: u16| slots[usize::from(n)];
        match self.shape {
            Shape::Plain(size) => touch(at, u64::from(size)),
            Shape::Exchange { .. } | Shape::Bit { .. } | Shape::String { .. } => {
                self.scalar(at, slots, touch);
            }
            Shape::Elements { mask, size, count } => {
                let mask = slot(mask);
                for i in (0..count).filter(|i| mask >> i & 1 != 0) {
                    touch(at.wrapping_add(u64::from(i * size)), u64::from(size));
                }
            }
            Shape::Packed { mask, size, count } => {
                let set = (slot(mask) & below(count)).count_ones();
                touch(at, u64::from(set * size));
            }
            Shape::IfAny { mask, count, size } => {
                if slot(mask) & below(count) != 0 {
                    touch(at, u64::from(size));
                }
            }
            Shape::Gather { mask, indices, index_size, scale, size, count } => {
                for i in (0..count).filter(|i| slot(mask) >> i & 1 != 0) {
                    let index = if index_size == 8 {
                        slot(indices + i as u16)
                    } else {
                        let pair = slot(indices + i as u16 / 2);
                        (pair >> (32 * (i % 2))) as i32 as i64 as u64
                    };
                    touch(at.wrapping_add(index.wrapping_mul(u64::from(scale))), u64::from(size));
                }
            }
        }
    }

    fn scalar(&self, at: u64, slots: &[u64], touch: &mut dyn FnMut(u64, u64)) {
        let slot = |n: u16| slots[usize::from(n)];
        match self.shape {
            Shape::String { after, size } => {
                let (after, size) = (slot(after), u64::from(size));
                if after >= at {
                    touch(at, after - at);
                } else {
                    touch(after.wrapping_add(size), at - after);
                }
            }
            Shape::Exchange { zero, size } if slot(zero) & 0xff != 0 => {
                touch(at, u64::from(size));
            }
            Shape::Bit { number, size } => {
                let bits = size * 8;
                let number = match size {
                    2 => i64::from(slot(number) as i16),
                    4 => i64::from(slot(number) as i32),
                    _ => slot(number) as i64,
                };
                let operand = number.div_euclid(i64::from(bits));
                touch(at.wrapping_add_signed(operand * i64::from(size)), u64::from(size));
            }
            _ => {}
        }
    }
}

fn below(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
