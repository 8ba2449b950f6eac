//! Writes sections in the packed form, from inside the traced program.

use core::fmt;

use super::form::{
    ALL_ACCESS, Before, Contents, FAR, LENGTH, LONGER, NO_ACCESS, NUMBER, SOME_ACCESS, WIDE,
    WIDE_ACCESS, with,
};
use crate::layout::{PLAINLY_READ, PLAINLY_WRITTEN, SectionRecord, StepRecord, WordRecord};

/// The state that is kept for a chunk while sections are written to it.
#[derive(Clone)]
pub struct Writing {
    before: Before,
    forms: Forms,
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").field("forms", &self.forms.count).finish_non_exhaustive()
    }
}

impl Writing {
    /// The state of an empty chunk.
    pub const fn new() -> Writing {
        let before = Before { lock: 0, site: 0, acquired: 0, incarnation: 0, word: 0 };
        Writing { before, forms: Forms { count: 0, known: [Known::NOTHING; FORMS] } }
    }

    /// Writes a section to the position `at` of the chunk, and returns the number of its bytes. The
    /// lengths of the four arrays are taken from `contents` and not from the record.
    ///
    /// # Errors
    /// If there is no room for the section, the error is the most bytes that it would take. The
    /// state stays the same, but bytes after the position may have been overwritten.
    pub fn write(
        &mut self,
        chunk: &mut [u8],
        at: usize,
        section: &SectionRecord,
        contents: &Contents<'_>,
    ) -> Result<usize, usize> {
        let start = at + NUMBER + LENGTH;
        let mut pen = Pen { to: chunk, at: start };
        pen.form(section, contents);
        let end = pen.at;
        let length = end - start;
        let known = pen.to.get(start..end).and_then(|form| self.forms.find(form, pen.to));
        pen.head(section, self.before);
        pen.data(contents, self.before.word);
        let rest = pen.at - end;
        let most = pen.at - at;
        let room = pen.to.len();
        if most > room.saturating_sub(at) {
            return Err(most);
        }
        let written = match known {
            Some(number) if length <= LONGER * rest => {
                chunk[at..at + NUMBER].copy_from_slice(&number.to_le_bytes());
                chunk.copy_within(end..end + rest, at + NUMBER);
                NUMBER + rest
            }
            _ => {
                chunk[at..at + NUMBER].fill(0);
                chunk[at + NUMBER..start].copy_from_slice(&(length as u32).to_le_bytes());
                self.forms.add(start, length, chunk);
                most
            }
        };
        self.before = self.before.after(section, contents.words.first().map(|word| word.address));
        Ok(written)
    }
}

impl Default for Writing {
    fn default() -> Writing {
        Writing::new()
    }
}

/// The forms of a chunk that are remembered.
#[derive(Clone)]
struct Forms {
    count: u16,
    /// The known forms, by a hash of their bytes. Of two forms with the same slot, only the later
    /// one is known.
    known: [Known; FORMS],
}

const FORMS: usize = 256;

#[derive(Clone, Copy)]
struct Known {
    number: u16,
    mixed: u16,
    length: u32,
    at: u32,
}

impl Known {
    const NOTHING: Known = Known { number: 0, mixed: 0, length: 0, at: 0 };
}

impl Forms {
    /// The number of a form that the chunk has; `None` if the chunk does not have the form, or if
    /// it is not remembered.
    fn find(&self, form: &[u8], chunk: &[u8]) -> Option<u16> {
        let mixed = mix(form);
        let known = self.known[usize::from(mixed) % FORMS];
        let is_same = || chunk.get(known.at as usize..)?.get(..form.len()).map(|old| old == form);
        let alike =
            known.number != 0 && known.mixed == mixed && known.length as usize == form.len();
        (alike && is_same() == Some(true)).then_some(known.number)
    }

    /// Gives the next number to the form that was written to the chunk at this position.
    fn add(&mut self, at: usize, length: usize, chunk: &[u8]) {
        // After the last possible number, forms get no numbers any more.
        let Some(number) = self.count.checked_add(1) else { return };
        self.count = number;
        let mixed = mix(&chunk[at..at + length]);
        let known = Known { number, mixed, length: length as u32, at: at as u32 };
        self.known[usize::from(mixed) % FORMS] = known;
    }
}

/// A hash of these bytes (similar to FxHash).
fn mix(bytes: &[u8]) -> u16 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut mixed = bytes.len() as u64;
    for eight in eights {
        mixed = (mixed.rotate_left(5) ^ u64::from_le_bytes(*eight)).wrapping_mul(ODD);
    }
    for byte in rest {
        mixed = (mixed.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(ODD);
    }
    (mixed >> 48) as u16
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
        // Most numbers have one or two bytes, for which this is faster.
        if number < 1 << 14
            && let Some(places) = self.to.get_mut(self.at..self.at + 2)
        {
            let is_long = number >= 0x80;
            places.copy_from_slice(&[number as u8 | u8::from(is_long) << 7, (number >> 7) as u8]);
            self.at += 1 + usize::from(is_long);
            return;
        }
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline]
    fn difference(&mut self, number: u64, from: u64) {
        self.number(zigzag(number.wrapping_sub(from)));
    }

    fn form(&mut self, s: &SectionRecord, contents: &Contents<'_>) {
        self.number(s.op.into());
        self.number(s.instructions);
        self.number(s.memory_instructions);
        self.number(s.allocations.into());
        self.number(s.frees.into());
        let Contents { objects, words, steps, system_calls } = *contents;
        for count in [words.len(), steps.len(), objects.len(), system_calls.len()] {
            self.number(count as u64);
        }
        let mut site = s.site;
        for object in objects {
            self.difference(object.site, site);
            self.number(object.size);
            site = object.site;
        }
        self.words(words, s.site);
        self.steps(steps, s.site);
        for call in system_calls {
            self.number(call.number.into());
            self.number(call.times.into());
        }
    }

    fn words(&mut self, words: &[WordRecord], mut by: u64) {
        for word in words {
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
        let mut times = 0;
        for step in steps {
            let access = access(step);
            let difference = zigzag(step.address.wrapping_sub(address));
            address = step.address;
            // Nearly all steps are near the step before, and were executed as often as that step.
            let (near, again) = (difference < FAR, step.times == times);
            let first = if near { difference } else { FAR };
            self.number(first << 3 | u64::from(again) << 2 | access);
            if !near {
                self.number(difference);
            }
            if !again {
                self.number(step.times.into());
                times = step.times;
            }
            match access {
                ALL_ACCESS => self.number(step.high.wrapping_sub(step.low)),
                SOME_ACCESS => self.number(step.accesses.into()),
                _ => {}
            }
        }
    }

    fn head(&mut self, s: &SectionRecord, before: Before) {
        self.difference(s.lock, before.lock);
        self.difference(s.site, before.site);
        self.difference(s.acquired, before.acquired);
        self.difference(s.released, s.acquired);
        self.number(s.waited);
        self.difference(s.order, s.acquired);
        self.number(s.outer);
        self.difference(s.incarnation, before.incarnation);
        self.number(u64::from(s.holder.wrapping_add(1)));
        self.number(s.flags.into());
        self.number(s.stopped.into());
    }

    fn data(&mut self, contents: &Contents<'_>, mut word_before: u64) {
        let mut start = 0;
        for object in contents.objects {
            self.difference(object.start, start);
            self.number(object.serial);
            start = object.start;
        }
        for word in contents.words {
            debug_assert!(word.address.is_multiple_of(8));
            self.difference(word.address >> 3, word_before >> 3);
            word_before = word.address;
        }
        let mut low = 0;
        for step in contents.steps {
            let access = access(step);
            if access == NO_ACCESS {
                continue;
            }
            self.difference(step.low, low);
            low = step.low;
            if access != ALL_ACCESS {
                self.number(step.high.wrapping_sub(step.low));
            }
        }
    }
}

/// Encodes a difference, with its sign as its lowest bit.
#[inline]
fn zigzag(difference: u64) -> u64 {
    let difference = difference as i64;
    (difference << 1 ^ difference >> 63) as u64
}

/// How a step accesses memory: one of the constants in `form`.
#[inline]
fn access(step: &StepRecord) -> u64 {
    match step.accesses {
        0 => NO_ACCESS,
        all if all != step.times => SOME_ACCESS,
        _ if step.high.wrapping_sub(step.low) < WIDE => ALL_ACCESS,
        _ => WIDE_ACCESS,
    }
}
