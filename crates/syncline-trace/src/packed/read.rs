//! The side that reads, and trusts nothing.

use super::{ALL_ACCESS, Before, NO_ACCESS, with};
use crate::layout::{
    ObjectRecord, PLAINLY_READ, PLAINLY_WRITTEN, SectionRecord, StepRecord, SystemCallRecord,
    WordRecord,
};

/// The arrays of a section, as they are read.
pub(crate) struct Arrays {
    pub objects: Box<[ObjectRecord]>,
    pub words: Box<[WordRecord]>,
    /// Each instruction once, in the order of their addresses.
    pub steps: Box<[StepRecord]>,
    pub system_calls: Box<[SystemCallRecord]>,
}

/// Reads a section; none if the bytes are no section.
pub(crate) fn read(before: &mut Before, bytes: &[u8]) -> Option<(SectionRecord, Arrays)> {
    let mut eye = Eye { rest: bytes };
    let mut s: SectionRecord = bytemuck::Zeroable::zeroed();
    s.lock = eye.difference(before.lock)?;
    s.site = eye.difference(before.site)?;
    s.acquired = eye.difference(before.acquired)?;
    s.released = eye.difference(s.acquired)?;
    s.waited = eye.number()?;
    s.order = eye.difference(s.acquired)?;
    s.outer = eye.number()?;
    s.incarnation = eye.difference(before.incarnation)?;
    s.holder = eye.small()?.wrapping_sub(1);
    for number in [&mut s.flags, &mut s.stopped, &mut s.op] {
        *number = eye.small()?;
    }
    s.instructions = eye.number()?;
    s.memory_instructions = eye.number()?;
    s.allocations = eye.small()?;
    s.frees = eye.small()?;
    for count in [&mut s.objects, &mut s.words, &mut s.steps, &mut s.system_calls] {
        *count = eye.small()?;
    }
    let arrays = Arrays {
        objects: eye.objects(s.objects)?,
        words: eye.words(s.words, before.word, s.site)?,
        steps: eye.steps(s.steps, &mut before.step)?,
        system_calls: eye.array(s.system_calls, 2, |eye| {
            Some(SystemCallRecord { number: eye.small()?, times: eye.small()? })
        })?,
    };
    // What is left only fills up a word.
    if eye.rest.len() >= 8 {
        return None;
    }
    s.steps = arrays.steps.len() as u32;
    let Before { step, .. } = *before;
    let word = arrays.words.first().map_or(before.word, |word| word.address);
    let SectionRecord { lock, site, acquired, incarnation, .. } = s;
    *before = Before { lock, site, acquired, incarnation, word, step };
    Some((s, arrays))
}

struct Eye<'a> {
    rest: &'a [u8],
}

impl Eye<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn difference(&mut self, from: u64) -> Option<u64> {
        let number = self.number()?;
        Some(from.wrapping_add(number >> 1 ^ (number & 1).wrapping_neg()))
    }

    /// So many elements, each of which takes so many bytes at least.
    fn array<T>(
        &mut self,
        count: u32,
        least: usize,
        mut one: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Box<[T]>> {
        let count = count as usize;
        if count > self.rest.len() / least {
            return None;
        }
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(one(self)?);
        }
        Some(all.into_boxed_slice())
    }

    fn objects(&mut self, count: u32) -> Option<Box<[ObjectRecord]>> {
        let (mut start, mut site) = (0, 0);
        self.array(count, 4, |eye| {
            start = eye.difference(start)?;
            let size = eye.number()?;
            site = eye.difference(site)?;
            Some(ObjectRecord { start, size, site, serial: eye.number()? })
        })
    }

    fn words(&mut self, count: u32, mut address: u64, mut by: u64) -> Option<Box<[WordRecord]>> {
        self.array(count, 3, |eye| {
            let which = eye.byte()?;
            let has = |flag: u8| which & flag != 0;
            address = eye.difference(address >> 3)? << 3;
            let mut bytes = |some, all| match (has(some), has(all)) {
                (true, _) => eye.byte(),
                (false, all) => Some(if all { 0xff } else { 0 }),
            };
            let read = bytes(with::READ, with::READ_ALL)?;
            let written = bytes(with::WRITTEN, with::WRITTEN_ALL)?;
            let mut instruction = |is: bool| {
                if !is {
                    return Some(0);
                }
                by = eye.difference(by)?;
                Some(by)
            };
            let reader = instruction(has(with::READER))?;
            let writer = instruction(has(with::WRITER))?;
            let flag = |is: bool, flag: u16| if is { flag } else { 0 };
            let flags = flag(has(with::PLAINLY_READ), PLAINLY_READ)
                | flag(has(with::PLAINLY_WRITTEN), PLAINLY_WRITTEN);
            let object = eye.small()?.wrapping_sub(1);
            Some(WordRecord { address, reader, writer, object, read, written, flags })
        })
    }

    fn steps(&mut self, count: u32, first: &mut u64) -> Option<Box<[StepRecord]>> {
        let (mut address, mut last_low) = (*first, 0);
        let steps = self.array(count, 2, |eye| {
            address = eye.difference(address)?;
            let number = eye.number()?;
            let times = u32::try_from(number >> 2).ok()?;
            let accesses = match number & 3 {
                NO_ACCESS => 0,
                ALL_ACCESS => times,
                _ => eye.small()?,
            };
            let (mut low, mut high) = (u64::MAX, 0);
            if number & 3 != NO_ACCESS {
                low = eye.difference(last_low)?;
                high = low.wrapping_add(eye.number()?);
                last_low = low;
            }
            Some(StepRecord { address, low, high, times, accesses })
        })?;
        *first = steps.first().map_or(*first, |step| step.address);
        Some(added_up(steps.into_vec()))
    }
}

/// Each instruction once, which may have been part of several blocks of code.
fn added_up(mut steps: Vec<StepRecord>) -> Box<[StepRecord]> {
    steps.sort_unstable_by_key(|step| step.address);
    steps.dedup_by(|later, kept| {
        let same = later.address == kept.address;
        if same {
            kept.times = kept.times.saturating_add(later.times);
            kept.accesses = kept.accesses.saturating_add(later.accesses);
            kept.low = kept.low.min(later.low);
            kept.high = kept.high.max(later.high);
        }
        same
    });
    steps.into_boxed_slice()
}
