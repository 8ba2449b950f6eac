//! A loaded object: the program, or one of its libraries.

use core::ffi::{CStr, c_char};
use core::slice;

use crate::build_id::build_id;

const PT_NOTE: u32 = 4;

/// An object's program header.
pub type ProgramHeader = libc::Elf64_Phdr;

/// A loaded ELF object, as the loader describes it. Only valid while it stays loaded.
#[derive(Clone, Copy)]
pub struct Object {
    /// Its first address, at a page's start.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// The number that is subtracted from an address in memory to get the address in the file.
    pub bias: u64,
    pub(crate) headers: &'static [ProgramHeader],
    name: *const c_char,
}

impl Object {
    /// An object that lies from `start` to `end`.
    ///
    /// # Safety
    /// The headers are the object's own, and the name is null or ends in a zero byte. Both stay
    /// for as long as this value and its copies are used.
    pub unsafe fn new(
        (start, end): (u64, u64),
        bias: u64,
        headers: &'static [ProgramHeader],
        name: *const c_char,
    ) -> Object {
        Object { start, end, bias, headers, name }
    }

    /// The program headers of a kind, such as `PT_LOAD`.
    pub fn headers(&self, kind: u32) -> impl Iterator<Item = &'static ProgramHeader> + use<> {
        self.headers.iter().filter(move |header| header.p_type == kind)
    }

    /// The bytes of a segment, in memory.
    pub fn bytes(&self, segment: &ProgramHeader) -> &'static [u8] {
        let start = (self.bias + segment.p_vaddr) as *const u8;
        // SAFETY: the program header is the object's own, and the segment is mapped as it says.
        unsafe { slice::from_raw_parts(start, segment.p_memsz as usize) }
    }

    /// The path by which it was loaded; empty for the program.
    pub fn path(&self) -> &'static [u8] {
        if self.name.is_null() {
            return b"";
        }
        // SAFETY: the name ends in a zero byte and stays, by the condition of `new`.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }

    /// The build id; `None` if the object has none.
    pub fn build_id(&self) -> Option<&'static [u8]> {
        self.headers(PT_NOTE).find_map(|segment| build_id(self.bytes(segment)))
    }
}
