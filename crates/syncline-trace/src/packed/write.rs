//! The side that writes, from inside the program.

use super::{ALL_ACCESS, Before, Contents, NO_ACCESS, SOME_ACCESS, with};
use crate::layout::{
    ObjectRecord, PLAINLY_READ, PLAINLY_WRITTEN, SectionRecord, StepRecord, WordRecord,
};

/// Writes a section, and says how many bytes it takes. If these are more than there is room for,
/// what was written is of no use, nor is what `before` is then.
///
/// The four counts of the record are taken from the contents.
pub fn write(
    before: &mut Before,
    section: &SectionRecord,
    contents: &Contents<'_>,
    to: &mut [u8],
) -> usize {
    let mut pen = Pen { to, at: 0 };
    *before = pen.section(*before, section, contents);
    pen.at
}

struct Pen<'a> {
    to: &'a mut [u8],
    at: usize,
}

impl Pen<'_> {
    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.to.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline]
    fn difference(&mut self, number: u64, from: u64) {
        let difference = number.wrapping_sub(from) as i64;
        self.number((difference << 1 ^ difference >> 63) as u64);
    }

    fn section(&mut self, before: Before, s: &SectionRecord, contents: &Contents<'_>) -> Before {
        self.difference(s.lock, before.lock);
        self.difference(s.site, before.site);
        self.difference(s.acquired, before.acquired);
        self.difference(s.released, s.acquired);
        self.number(s.waited);
        self.difference(s.order, s.acquired);
        self.number(s.outer);
        self.difference(s.incarnation, before.incarnation);
        self.number(u64::from(s.holder.wrapping_add(1)));
        for number in [s.flags, s.stopped, s.op] {
            self.number(number.into());
        }
        self.number(s.instructions);
        self.number(s.memory_instructions);
        for number in [s.allocations, s.frees] {
            self.number(number.into());
        }
        let Contents { objects, words, steps, system_calls } = *contents;
        for count in [objects.len(), words.len(), steps.len(), system_calls.len()] {
            self.number(count as u64);
        }
        self.objects(objects);
        self.words(words, before.word, s.site);
        self.steps(steps, before.step);
        for call in system_calls {
            self.number(call.number.into());
            self.number(call.times.into());
        }
        Before {
            lock: s.lock,
            site: s.site,
            acquired: s.acquired,
            incarnation: s.incarnation,
            word: words.first().map_or(before.word, |word| word.address),
            step: steps.first().map_or(before.step, |step| step.address),
        }
    }

    fn objects(&mut self, objects: &[ObjectRecord]) {
        let (mut start, mut site) = (0, 0);
        for object in objects {
            self.difference(object.start, start);
            self.number(object.size);
            self.difference(object.site, site);
            self.number(object.serial);
            (start, site) = (object.start, object.site);
        }
    }

    fn words(&mut self, words: &[WordRecord], mut address: u64, mut by: u64) {
        for word in words {
            debug_assert!(word.address.is_multiple_of(8));
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let which = flag(word.reader != 0, with::READER)
                | flag(word.writer != 0, with::WRITER)
                | flag(word.flags & PLAINLY_READ != 0, with::PLAINLY_READ)
                | flag(word.flags & PLAINLY_WRITTEN != 0, with::PLAINLY_WRITTEN)
                | match word.read {
                    0 => 0,
                    0xff => with::READ_ALL,
                    _ => with::READ,
                }
                | match word.written {
                    0 => 0,
                    0xff => with::WRITTEN_ALL,
                    _ => with::WRITTEN,
                };
            self.byte(which);
            self.difference(word.address >> 3, address >> 3);
            address = word.address;
            if which & with::READ != 0 {
                self.byte(word.read);
            }
            if which & with::WRITTEN != 0 {
                self.byte(word.written);
            }
            for instruction in [word.reader, word.writer] {
                if instruction != 0 {
                    self.difference(instruction, by);
                    by = instruction;
                }
            }
            self.number(u64::from(word.object.wrapping_add(1)));
        }
    }

    fn steps(&mut self, steps: &[StepRecord], mut address: u64) {
        let mut low = 0;
        for step in steps {
            self.difference(step.address, address);
            address = step.address;
            let accesses = match step.accesses {
                0 => NO_ACCESS,
                all if all == step.times => ALL_ACCESS,
                _ => SOME_ACCESS,
            };
            self.number(u64::from(step.times) << 2 | accesses);
            if accesses == NO_ACCESS {
                continue;
            }
            if accesses == SOME_ACCESS {
                self.number(step.accesses.into());
            }
            self.difference(step.low, low);
            self.number(step.high.wrapping_sub(step.low));
            low = step.low;
        }
    }
}
