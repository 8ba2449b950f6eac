//! The calls in a file's code, by their return addresses.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::{Object, ObjectSection, SectionKind};

use super::files;

/// The length of the longest call instruction, in bytes: a call through memory at a register and a
/// displacement, with a prefix.
const LONGEST: usize = 8;

/// The call that returns to an address, found in `code`, the bytes that end there; `None` if there
/// is no call.
pub fn call_before(address: u64, code: &[u8]) -> Option<Instruction> {
    // The length of a direct call, and then those of calls through memory or a register. The last
    // bytes of an encoding with a REX prefix look like a call through another register, so longer
    // encodings are tried first.
    [5, LONGEST, 7, 6, 4, 3, 2].into_iter().find_map(|length| {
        let bytes = &code[code.len().checked_sub(length)?..];
        let start = address.checked_sub(length as u64)?;
        let call = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
        let calls = matches!(call.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        (calls && !call.is_invalid() && call.len() == length).then_some(call)
    })
}

/// A file whose calls are looked up one by one. Only the bytes of each call are read, since a file
/// may have hundreds of megabytes of code.
pub struct Calls {
    file: File,
    /// The address ranges of code, each with its offset in the file.
    texts: Vec<(Range<u64>, u64)>,
    /// The results so far, by return address.
    found: RefCell<HashMap<u64, Option<Instruction>>>,
}

impl Calls {
    /// Opens a file; `None` if it can't be read or has no code.
    pub fn open(path: &Path) -> Option<Calls> {
        let cache = files::open(path)?;
        let file = object::File::parse(&cache).ok()?;
        let texts = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let place = |section: object::Section<'_, '_, _>| {
            let (offset, size) = section.file_range()?;
            Some((section.address()..section.address().checked_add(size)?, offset))
        };
        let texts: Vec<_> = texts.filter_map(place).collect();
        let file = File::open(path).ok().filter(|_| !texts.is_empty())?;
        Some(Calls { file, texts, found: RefCell::default() })
    }

    /// The call that returns to an address of the file; `None` if there is no call, or its bytes
    /// can't be read.
    pub fn before(&self, address: u64) -> Option<Instruction> {
        *self.found.borrow_mut().entry(address).or_insert_with(|| self.read(address))
    }

    fn read(&self, address: u64) -> Option<Instruction> {
        let last = address.checked_sub(1)?;
        let (text, offset) = self.texts.iter().find(|(text, _)| text.contains(&last))?;
        let length = LONGEST.min((address - text.start) as usize);
        let mut code = [0; LONGEST];
        let code = &mut code[..length];
        let start = offset + (address - text.start) - length as u64;
        self.file.read_exact_at(code, start).ok()?;
        call_before(address, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_whatever_its_length() {
        let calls: [(&[u8], bool); 7] = [
            (&[0xe8, 0, 1, 0, 0], true),
            (&[0xff, 0x15, 0, 1, 0, 0], true),
            (&[0xff, 0xd0], true),
            (&[0x41, 0xff, 0xd2], true),
            (&[0x41, 0xff, 0x93, 0, 1, 0, 0], true),
            (&[0x41, 0xff, 0x94, 0x24, 0, 1, 0, 0], true),
            // A jump through a slot that the loader fills is not a call.
            (&[0xff, 0x25, 0, 1, 0, 0], false),
        ];
        for (code, is_call) in calls {
            let mut before = vec![0x90; 8];
            before.extend(code);
            let found = call_before(0x1000, &before);
            assert_eq!(found.map(|call| call.len()), is_call.then_some(code.len()), "{code:x?}");
        }
        let direct = call_before(0x1000, &[0xe8, 0, 1, 0, 0]).expect("a call");
        assert_eq!(direct.near_branch_target(), 0x1100);
        assert!(call_before(0x1000, &[]).is_none());
    }
}
