//! Reads sections in the packed form, and trusts none of their bytes.

use super::form::{ALL_ACCESS, Before, FAR, LENGTH, LONGER, NO_ACCESS, NUMBER, SOME_ACCESS, with};
use crate::layout::{
    ObjectRecord, PLAINLY_READ, PLAINLY_WRITTEN, SectionRecord, StepRecord, SystemCallRecord,
    WordRecord,
};

/// The arrays of a section, as they were read.
pub(crate) struct Arrays {
    pub objects: Box<[ObjectRecord]>,
    pub words: Box<[WordRecord]>,
    /// The instructions, each once, in the order of their addresses.
    pub steps: Box<[StepRecord]>,
    pub system_calls: Box<[SystemCallRecord]>,
}

/// The state that is kept for a chunk while its sections are read.
#[derive(Default)]
pub(crate) struct Reading {
    before: Before,
    /// The forms that have been read; the form with the number `n` is at index `n - 1`.
    forms: Vec<Box<[u8]>>,
}

impl Reading {
    /// Reads a section; `None` if the bytes are not a section.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<(SectionRecord, Arrays)> {
        let (number, rest) = bytes.split_first_chunk::<NUMBER>()?;
        let (form, rest) = match u16::from_le_bytes(*number) {
            0 => {
                let (length, rest) = rest.split_first_chunk::<LENGTH>()?;
                let (form, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                self.forms.push(form.into());
                (form, rest)
            }
            number => {
                let form = &**self.forms.get(usize::from(number) - 1)?;
                if form.len() > LONGER * rest.len() {
                    return None;
                }
                (form, rest)
            }
        };
        let mut data = Eye { rest };
        let mut section = data.head(self.before)?;
        let mut form = Eye { rest: form };
        form.counts(&mut section)?;
        let s = &mut section;
        let arrays = Arrays {
            objects: form.objects(s, &mut data)?,
            words: form.words(s, &mut data, self.before.word)?,
            steps: form.steps(s, &mut data)?,
            system_calls: form.array(s.system_calls, 2, |form| {
                Some(SystemCallRecord { number: form.small()?, times: form.small()? })
            })?,
        };
        // Only padding may follow the section, up to the next multiple of 8.
        if !form.rest.is_empty() || data.rest.len() >= 8 {
            return None;
        }
        s.steps = arrays.steps.len() as u32;
        self.before = self.before.after(s, arrays.words.first().map(|word| word.address));
        Some((section, arrays))
    }
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
        Some(from.wrapping_add(unzigzag(self.number()?)))
    }

    /// Reads `count` elements, each of which takes at least `least` bytes.
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

    /// Reads those fields of the record that are not in the form.
    fn head(&mut self, before: Before) -> Option<SectionRecord> {
        let mut s: SectionRecord = bytemuck::Zeroable::zeroed();
        s.lock = self.difference(before.lock)?;
        s.site = self.difference(before.site)?;
        s.acquired = self.difference(before.acquired)?;
        s.released = self.difference(s.acquired)?;
        s.waited = self.number()?;
        s.order = self.difference(s.acquired)?;
        s.outer = self.number()?;
        s.incarnation = self.difference(before.incarnation)?;
        s.holder = self.small()?.wrapping_sub(1);
        s.flags = self.small()?;
        s.stopped = self.small()?;
        Some(s)
    }

    /// Reads those fields of the record that are in the form.
    fn counts(&mut self, s: &mut SectionRecord) -> Option<()> {
        s.op = self.small()?;
        s.instructions = self.number()?;
        s.memory_instructions = self.number()?;
        let SectionRecord { allocations, frees, words, steps, objects, system_calls, .. } = s;
        for number in [allocations, frees, words, steps, objects, system_calls] {
            *number = self.small()?;
        }
        Some(())
    }

    fn objects(&mut self, s: &SectionRecord, data: &mut Eye<'_>) -> Option<Box<[ObjectRecord]>> {
        let (mut start, mut site) = (0, s.site);
        self.array(s.objects, 2, |form| {
            site = form.difference(site)?;
            let size = form.number()?;
            start = data.difference(start)?;
            Some(ObjectRecord { start, size, site, serial: data.number()? })
        })
    }

    fn words(
        &mut self,
        s: &SectionRecord,
        data: &mut Eye<'_>,
        mut address: u64,
    ) -> Option<Box<[WordRecord]>> {
        let mut by = s.site;
        self.array(s.words, 2, |form| {
            let which = form.byte()?;
            let has = |flag: u8| which & flag != 0;
            address = data.difference(address >> 3)? << 3;
            let mut bytes = |some, all| match (has(some), has(all)) {
                (true, _) => form.byte(),
                (false, all) => Some(if all { 0xff } else { 0 }),
            };
            let read = bytes(with::READ, with::READ_ALL)?;
            let written = bytes(with::WRITTEN, with::WRITTEN_ALL)?;
            let mut instruction = |is: bool| {
                if !is {
                    return Some(0);
                }
                by = form.difference(by)?;
                Some(by)
            };
            let reader = instruction(has(with::READER))?;
            let writer = instruction(has(with::WRITER))?;
            let flag = |is: bool, flag: u16| if is { flag } else { 0 };
            let flags = flag(has(with::PLAINLY_READ), PLAINLY_READ)
                | flag(has(with::PLAINLY_WRITTEN), PLAINLY_WRITTEN);
            let object = form.small()?.wrapping_sub(1);
            Some(WordRecord { address, reader, writer, object, read, written, flags })
        })
    }

    fn steps(&mut self, s: &SectionRecord, data: &mut Eye<'_>) -> Option<Box<[StepRecord]>> {
        let (mut address, mut times, mut last_low) = (s.site, 0, 0);
        let steps = self.array(s.steps, 1, |form| {
            let first = form.number()?;
            let difference = if first >> 3 < FAR { first >> 3 } else { form.number()? };
            address = address.wrapping_add(unzigzag(difference));
            if first & 4 == 0 {
                times = form.small()?;
            }
            let access = first & 3;
            if access == NO_ACCESS {
                return Some(StepRecord { address, low: u64::MAX, high: 0, times, accesses: 0 });
            }
            let accesses = if access == SOME_ACCESS { form.small()? } else { times };
            let low = data.difference(last_low)?;
            last_low = low;
            let more = if access == ALL_ACCESS { form.number()? } else { data.number()? };
            Some(StepRecord { address, low, high: low.wrapping_add(more), times, accesses })
        })?;
        Some(added_up(steps.into_vec()))
    }
}

/// Decodes a difference whose sign was made its lowest bit.
fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// Adds up the steps of each instruction. There may be several, because an instruction may be in
/// several blocks of code.
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
