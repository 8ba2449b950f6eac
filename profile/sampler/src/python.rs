//! Which Python functions a sleeping thread is in.
//!
//! A C function of CPython's interpreter executes all Python functions, so native stacks of Python
//! threads look alike. But the interpreter has a list of the Python functions that each thread is
//! in, which is read here from outside of the process:
//!
//! ```text
//!   _PyRuntime --> interpreter --> thread --next--> thread ...     found by the kernel's number
//!                                    |
//!                                    v current
//!                 frame of the innermost function --previous--> frame of its caller ...
//!                    | code                   | instruction
//!                    v                        v
//!                 code object: name, file, a table of lines
//! ```
//!
//! The offsets of these fields differ between the minor versions of Python, and are known for those
//! in [`Layout::of`]. The thread must sleep, since only then does the list stay as it is.

use std::collections::HashMap;
use std::ops::Range;

use syncline_recording::PythonFrame;

use crate::memory::Memory;

/// The most threads of an interpreter, and the most Python functions of a thread, that are read.
const THREADS: usize = 4096;
const FRAMES: usize = 48;
/// The longest name, and the longest table of lines, in bytes.
const NAME: usize = 1 << 10;
const TABLE: usize = 1 << 20;
/// The most code objects that are kept. Programs that keep making new ones are rare.
const CODES: usize = 1 << 13;

/// Where the interpreter's symbols are in a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// The address of `Py_Version`.
    pub version: u64,
    /// The instructions of `_PyEval_EvalFrameDefault`, which executes Python functions.
    pub evaluates: Range<u64>,
}

/// The offsets of the fields that lead to the functions of a thread, in bytes.
#[derive(Debug, PartialEq)]
struct Layout {
    /// The first interpreter, in `_PyRuntimeState`.
    interpreter: u64,
    /// The first thread, in `PyInterpreterState`.
    first_thread: u64,
    /// The thread's number in the kernel, in `PyThreadState`.
    number: u64,
    /// Where the address of the current frame is: at the first offset in `PyThreadState` or, if
    /// there is a second offset, at that offset in a structure to which the word at the first one
    /// points.
    current: (u64, Option<u64>),
    /// In `_PyInterpreterFrame`: code, previous frame, instruction, and which kind of frame it is.
    frame: [usize; 4],
    /// In `PyCodeObject`: file, qualified name, first line, table of lines, instructions.
    code: [usize; 5],
    /// The sizes of the two headers of a string: of one in ASCII, and of any other.
    string: (u64, u64),
}

/// The next thread, in `PyThreadState`.
const NEXT_THREAD: u64 = 8;
/// A frame of this kind does not belong to a Python function: it is where C called the interpreter.
const OF_C: u8 = 3;
/// The length of an object of bytes or of a string, and where the bytes begin.
const LENGTH: u64 = 16;
const BYTES: u64 = 32;
/// The state of a string.
const STATE: u64 = 32;
/// In the state: whether the characters follow the header, whether all are ASCII, and the size of
/// one.
const COMPACT: u32 = 1 << 5;
const ASCII: u32 = 1 << 6;
const KIND: u32 = 7 << 2;

impl Layout {
    /// The layout of Python 3.`minor`, from the headers in its `Include/internal`.
    fn of(minor: u64) -> Option<&'static Layout> {
        match minor {
            11 => Some(&Layout {
                interpreter: 40,
                first_thread: 16,
                number: 160,
                current: (56, Some(8)),
                frame: [32, 48, 56, 69],
                code: [112, 128, 72, 136, 184],
                string: (48, 72),
            }),
            12 => Some(&Layout {
                interpreter: 40,
                first_thread: 72,
                number: 144,
                current: (56, Some(0)),
                frame: [0, 8, 56, 70],
                code: [112, 128, 68, 136, 192],
                string: (40, 56),
            }),
            13 => Some(&Layout {
                interpreter: 632,
                first_thread: 7344,
                number: 160,
                current: (72, None),
                frame: [0, 8, 56, 70],
                code: [112, 128, 68, 136, 200],
                string: (40, 56),
            }),
            _ => None,
        }
    }
}

/// The interpreter of a process.
pub struct Python {
    memory: Memory,
    place: Place,
    layout: &'static Layout,
    /// The addresses of the threads' states, by the threads' numbers.
    threads: HashMap<u32, u64>,
    /// The names and lines of code objects, by the addresses of each object, its file, its name and
    /// its table of lines. The object's own address is not enough, because another object may use
    /// the memory of a freed one.
    codes: HashMap<[u64; 4], Code>,
}

struct Code {
    function: String,
    file: String,
    first_line: u32,
    lines: Vec<u8>,
}

impl Python {
    /// The interpreter at `place`; `None` if the layout of its version is unknown.
    pub fn new(pid: u32, place: Place) -> Option<Python> {
        let memory = Memory(pid);
        let version = memory.word(place.version, 0)?;
        let layout = Layout::of((version >> 16) & 0xff).filter(|_| version >> 24 == 3)?;
        Some(Python { memory, place, layout, threads: HashMap::new(), codes: HashMap::new() })
    }

    /// Whether a return address is in the function that executes Python functions.
    pub fn evaluates(&self, address: u64) -> bool {
        self.place.evaluates.contains(&address)
    }

    /// The Python functions that a thread is in, the innermost first; `None` if it is none of the
    /// interpreter's threads, or can't be read. The result counts only if the thread has slept
    /// meanwhile.
    pub fn frames(&mut self, tid: u32) -> Option<Vec<PythonFrame>> {
        let thread = self.thread(tid)?;
        let mut at = self.current(thread)?;
        let mut frames = Vec::new();
        let [code, previous, instruction, kind] = self.layout.frame;
        while at != 0 && frames.len() < FRAMES {
            let frame: [u8; 72] = self.memory.bytes(at)?;
            let word = |offset| word_at(&frame, offset);
            if frame[kind] != OF_C {
                frames.push(self.function(word(code), word(instruction))?);
            }
            at = word(previous);
        }
        Some(frames)
    }

    /// The state of the thread with this number.
    fn thread(&mut self, tid: u32) -> Option<u64> {
        if let Some(&known) = self.threads.get(&tid)
            && self.number(known) == Some(u64::from(tid))
        {
            return Some(known);
        }
        self.threads.clear();
        let interpreter = self.memory.word(self.place.runtime, self.layout.interpreter)?;
        let mut at = self.memory.word(interpreter, self.layout.first_thread)?;
        while at != 0 && self.threads.len() < THREADS {
            let number = self.number(at)?;
            self.threads.insert(u32::try_from(number).ok()?, at);
            at = self.memory.word(at, NEXT_THREAD)?;
        }
        self.threads.get(&tid).copied()
    }

    /// The kernel's number of a thread, by its state.
    fn number(&self, thread: u64) -> Option<u64> {
        self.memory.word(thread, self.layout.number)
    }

    fn current(&self, thread: u64) -> Option<u64> {
        let (at, within) = self.layout.current;
        let found = self.memory.word(thread, at)?;
        match within {
            Some(offset) => self.memory.word(found, offset),
            None => Some(found),
        }
    }

    /// The position of a code object and of an instruction in it.
    fn function(&mut self, code: u64, instruction: u64) -> Option<PythonFrame> {
        let object: [u8; 208] = self.memory.bytes(code)?;
        let [file, name, first_line, lines, instructions] = self.layout.code;
        let word = |offset| word_at(&object, offset);
        let key = [code, word(file), word(name), word(lines)];
        if !self.codes.contains_key(&key) {
            let first_line = word(first_line) as u32;
            let (file, function) = (self.string(word(file))?, self.string(word(name))?);
            let lines = self.object_of_bytes(word(lines))?;
            if self.codes.len() == CODES {
                self.codes.clear();
            }
            self.codes.insert(key, Code { function, file, first_line, lines });
        }
        let known = &self.codes[&key];
        let unit = instruction.checked_sub(code.checked_add(instructions as u64)?)? / 2;
        let line = line_of(&known.lines, known.first_line, unit);
        Some(PythonFrame { function: known.function.clone(), file: known.file.clone(), line })
    }

    fn object_of_bytes(&self, at: u64) -> Option<Vec<u8>> {
        let length = self.memory.word(at, LENGTH)?;
        self.memory.vector(at, BYTES, usize::try_from(length).ok().filter(|&n| n <= TABLE)?)
    }

    /// A string. If it has a character above U+00FF, which hardly any name has, the result only
    /// says that it is not readable.
    fn string(&self, at: u64) -> Option<String> {
        let length = self.memory.word(at, LENGTH)?;
        let length = usize::try_from(length).ok().filter(|&n| n <= NAME)?;
        let state = self.memory.word(at, STATE)? as u32;
        if state & COMPACT == 0 || state & KIND != 1 << 2 {
            return Some("<name not readable>".to_owned());
        }
        let (ascii, other) = self.layout.string;
        let header = if state & ASCII != 0 { ascii } else { other };
        let characters = self.memory.vector(at, header, length)?;
        Some(characters.into_iter().map(char::from).collect())
    }
}

/// The line of a code unit, by the table that code objects have since Python 3.11
/// (`Objects/locations.md` in Python's sources). An entry of the table covers some units. Its first
/// byte tells how many, and in which form the entry is. `None` if the table has no line for it.
fn line_of(table: &[u8], first_line: u32, unit: u64) -> Option<u32> {
    let mut line = i64::from(first_line);
    let mut end = 0;
    let mut bytes = table.iter().copied().peekable();
    loop {
        let first = bytes.next()?;
        let form = first >> 3 & 15;
        // The forms are: short, one line with columns, one line without, several lines, no line.
        line += match form {
            10..=12 => i64::from(form - 10),
            13 | 14 => signed(&mut bytes)?,
            _ => 0,
        };
        end += u64::from(first & 7) + 1;
        if unit < end {
            return if form == 15 { None } else { u32::try_from(line).ok() };
        }
        // The first byte of an entry is the only one with the highest bit.
        while bytes.next_if(|byte| byte & 0x80 == 0).is_some() {}
    }
}

/// A number whose lowest bit is its sign, in groups of six bits, the lowest first. All but the last
/// group have a mark.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let (mut value, mut shift) = (0_i64, 0);
    loop {
        let byte = bytes.next()?;
        value |= i64::from(byte & 63).checked_shl(shift).filter(|_| shift < 36)?;
        shift += 6;
        if byte & 64 == 0 {
            break;
        }
    }
    Some(if value & 1 != 0 { -(value >> 1) } else { value >> 1 })
}

fn word_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python 3.11's own table (`co_linetable`) and lines (`co_positions`) of a function with a
    /// statement of two lines, far from the next one, and a loop.
    #[test]
    fn lines_are_those_that_python_gives() {
        const TABLE: [u8; 66] = [
            128, 0, 216, 9, 10, 216, 9, 10, 241, 3, 1, 10, 11, 128, 65, 245, 40, 0, 14, 19, 144,
            49, 137, 88, 140, 88, 240, 0, 1, 5, 18, 240, 0, 1, 5, 18, 136, 1, 216, 8, 9, 141, 81,
            136, 113, 137, 84, 140, 84, 137, 9, 136, 1, 136, 1, 221, 11, 12, 136, 81, 137, 52, 140,
            52, 128, 75,
        ];
        let runs = [(7, 1), (8, 1), (9, 1), (8, 3), (28, 17), (29, 19), (30, 15)];
        let mut unit = 0;
        for (line, units) in runs {
            for _ in 0..units {
                assert_eq!(line_of(&TABLE, 7, unit), Some(line), "unit {unit}");
                unit += 1;
            }
        }
        assert_eq!(line_of(&TABLE, 7, unit), None, "behind the last instruction");
    }

    #[test]
    fn a_table_with_any_bytes_gives_a_line_or_none() {
        for first in 0..=255 {
            for second in [0, 63, 64, 127, 128, 255] {
                let table = [first, second, second, second, first, second];
                for unit in 0..32 {
                    let _ = line_of(&table, 1, unit);
                }
            }
        }
        assert_eq!(line_of(&[], 1, 0), None);
        assert_eq!(signed(&mut [0b11].into_iter()), Some(-1));
        assert_eq!(signed(&mut [0b100_0010, 1].into_iter()), Some(33));
        assert_eq!(signed(&mut [0xff; 20].into_iter()), None, "it does not end");
    }
}
