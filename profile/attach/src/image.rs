//! Reads those parts of a module that are the same in memory as in its file.
//!
//! They are read from the file, if it can be opened. Reading them from the process would make the
//! kernel map more pages there, which would count as the process's memory for the rest of its life:
//! 0.4 MB for the C library alone.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use object::elf::{FileHeader64, PF_W, PF_X, PT_LOAD, ProgramHeader64};
use object::read::elf::ProgramHeader as _;
use object::{NativeEndian, pod};

use crate::maps::{self, Map};
use crate::memory::Memory;

const PAGE: u64 = 4096;

/// The program header of a part of a module.
pub type Header = ProgramHeader64<NativeEndian>;

/// The parts of a module, and its file.
#[derive(Debug)]
pub struct Image {
    memory: Memory,
    bias: u64,
    headers: Vec<Header>,
    /// `None` if the loaded file can't be opened, for example because it was replaced or has no
    /// name.
    file: Option<File>,
}

impl Image {
    /// The module with this bias. `known` has its program headers, if they are known already.
    pub fn of(
        memory: Memory,
        maps: &[Map],
        bias: u64,
        known: Option<Vec<Header>>,
    ) -> io::Result<Image> {
        let mut image = Image { memory, bias, headers: known.unwrap_or_default(), file: None };
        let start = image.whole().map_or(bias, |range| range.start);
        image.file = maps::at(maps, start).and_then(|map| open(memory.0, map));
        if image.headers.is_empty() {
            let bytes = image.at_start(0, size_of::<FileHeader64<NativeEndian>>())?;
            let invalid = |()| io::Error::from(io::ErrorKind::InvalidData);
            let (header, _) =
                pod::from_bytes::<FileHeader64<NativeEndian>>(&bytes).map_err(invalid)?;
            if !bytes.starts_with(b"\x7fELF") {
                return Err(invalid(()));
            }
            let length = usize::from(header.e_phnum.get(NativeEndian)) * size_of::<Header>();
            image.headers = headers(&image.at_start(header.e_phoff.get(NativeEndian), length)?)?;
        }
        Ok(image)
    }

    /// Reads bytes at this offset of a library's file. The file's beginning must be mapped at the
    /// bias.
    fn at_start(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match &self.file {
            Some(file) => read_at(file, offset, length),
            None => self.memory.read(self.bias + offset, length),
        }
    }

    fn loads(&self) -> impl Iterator<Item = &Header> {
        self.headers.iter().filter(|header| header.p_type(NativeEndian) == PT_LOAD)
    }

    /// The parts that the program never writes to.
    pub fn constant(&self) -> impl Iterator<Item = &Header> {
        self.loads().filter(|header| !header.p_flags(NativeEndian).contains(PF_W))
    }

    /// The parts with instructions.
    pub fn code(&self) -> impl Iterator<Item = &Header> {
        self.loads().filter(|header| header.p_flags(NativeEndian).contains(PF_X))
    }

    /// The parts that the program may write to.
    pub fn writable(&self) -> impl Iterator<Item = &Header> {
        self.loads().filter(|header| header.p_flags(NativeEndian).contains(PF_W))
    }

    /// The addresses of a part.
    pub fn range(&self, header: &Header) -> Range<u64> {
        let start = self.bias.wrapping_add(header.p_vaddr(NativeEndian));
        start..start + header.p_memsz(NativeEndian)
    }

    /// The addresses of the whole module, from its first page to its last byte.
    pub fn whole(&self) -> Option<Range<u64>> {
        let start = self.loads().map(|header| self.range(header).start & !(PAGE - 1)).min()?;
        Some(start..self.loads().map(|header| self.range(header).end).max()?)
    }

    /// Reads bytes that the program never writes to.
    pub fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let is_around = |header: &&Header| {
            let start = self.range(header).start;
            (start..start + header.p_filesz(NativeEndian)).contains(&at)
                && at + length as u64 <= start + header.p_filesz(NativeEndian)
        };
        match (&self.file, self.constant().find(is_around)) {
            (Some(file), Some(header)) => {
                let offset = at - self.range(header).start + header.p_offset(NativeEndian);
                read_at(file, offset, length)
            }
            _ => self.memory.read(at, length),
        }
    }
}

/// Converts bytes to program headers.
pub fn headers(bytes: &[u8]) -> io::Result<Vec<Header>> {
    let headers = pod::slice_from_all_bytes::<Header>(bytes);
    headers.map(<[Header]>::to_vec).map_err(|()| io::ErrorKind::InvalidData.into())
}

fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).map(|()| bytes)
}

/// Opens the file of a mapping, by the path that it has for the process. `None` if it can't be
/// opened, or if there is another file at this path by now.
fn open(pid: u32, map: &Map) -> Option<File> {
    // By now there may be a pipe at this path, and opening it must not wait.
    let mut options = File::options();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(format!("/proc/{pid}/root{}", map.path)).ok()?;
    let is = file.metadata().ok()?;
    let device = (libc::major(is.dev()), libc::minor(is.dev()));
    (is.is_file() && is.ino() == map.inode && device == map.device).then_some(file)
}
