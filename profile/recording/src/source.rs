//! Reads the bytes of a file that a recorded or traced program writes. Reading beyond the file's
//! end is an error.
//!
//! The files of recordings and traces begin with a page whose first words have the same meaning
//! ([`FirstWords`]), and both have regions of records of a fixed size.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut, pod_read_unaligned};

use crate::error::Error;
use crate::folder::Folder;
use crate::layout::{BYTE_ORDER, Region};

/// An open file, and its size when it was opened.
pub struct Source<'a> {
    path: &'a Path,
    file: File,
    meta: Metadata,
}

/// The beginning of a file's first page.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct FirstWords {
    /// Bytes that identify the kind of the file.
    pub magic: [u8; 8],
    /// The version of the file's format.
    pub version: u32,
    /// [`BYTE_ORDER`], as the writer's machine stores it.
    pub byte_order: u32,
    /// The process's machine type, as in an ELF file.
    pub machine: u32,
    /// The clock, [`CLOCK_TSC`](crate::layout::CLOCK_TSC) or
    /// [`CLOCK_MONOTONIC`](crate::layout::CLOCK_MONOTONIC).
    pub clock: u32,
    /// The number of the clock's ticks in a second.
    pub ticks_per_second: u64,
}

impl Source<'_> {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Foreign`] if the path has no file name, and those of [`Folder::open`] and
    /// [`Folder::file`].
    pub fn open(path: &Path) -> Result<Source<'_>, Error> {
        let Some(name) = path.file_name() else {
            return Err(Error::Foreign(path.to_owned()));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Folder::open(parent.unwrap_or(Path::new(".")))?;
        let (file, meta) = folder.file(name, false)?;
        Ok(Source { path, file, meta })
    }

    /// The file's size in bytes.
    pub fn size(&self) -> u64 {
        self.meta.len()
    }

    /// The file's metadata.
    pub fn meta(&self) -> &Metadata {
        &self.meta
    }

    /// The error for a damaged file. `what` says what is wrong.
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.to_owned(), what: what.into() }
    }

    /// The first page of the file, which must have this kind and version. `H` must begin with
    /// [`FirstWords`].
    ///
    /// # Errors
    /// [`Error`], if the page can't be read, if the file is empty or ends inside its first page, if
    /// it has another kind, version or byte order, or if its clock has no rate.
    pub fn first_page<H: Pod>(&self, kind: [u8; 8], version: u32) -> Result<H, Error> {
        if self.size() == 0 {
            return Err(Error::NoRoom(self.path.to_owned()));
        }
        let mut header = H::zeroed();
        let prefix = (self.size() as usize).min(size_of::<H>());
        self.read_at(&mut bytes_of_mut(&mut header)[..prefix], 0)?;
        let first: FirstWords = pod_read_unaligned(&bytes_of(&header)[..size_of::<FirstWords>()]);
        if first.magic != kind {
            return Err(Error::Foreign(self.path.to_owned()));
        }
        if first.byte_order != BYTE_ORDER {
            return Err(Error::ByteOrder(self.path.to_owned()));
        }
        if first.version != version {
            let path = self.path.to_owned();
            return Err(Error::Version { path, found: first.version, read: version });
        }
        if self.size() < crate::layout::HEADER_SIZE as u64 {
            return Err(self.damaged("it ends inside its first page"));
        }
        if first.ticks_per_second == 0 {
            return Err(self.damaged("its clock has no rate"));
        }
        Ok(header)
    }

    /// Fills a buffer with the bytes from this offset in the file on.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Damaged`] if the file ends too early.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        match self.file.read_exact_at(into, offset) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged(format!("it ends before byte {}", offset + into.len() as u64)))
            }
            Err(source) => Err(Error::Io { path: self.path.to_owned(), source }),
        }
    }

    /// Reads `count` records from this offset on, after a check that they lie within the file.
    /// `what` names them in the error.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Damaged`] if the records don't lie within the file.
    pub fn records<T: Pod>(&self, offset: u64, count: usize, what: &str) -> Result<Vec<T>, Error> {
        let bytes = (count as u64).checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        if end.is_none_or(|end| end > self.size()) {
            return Err(self.damaged(format!("its {what} lie beyond its end")));
        }
        let mut records = vec![T::zeroed(); count];
        self.read_at(bytemuck::cast_slice_mut(&mut records), offset)?;
        Ok(records)
    }

    /// The records of a region that are in use. `what` names them in the error.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Damaged`] if the records have another size or don't lie within
    /// the file.
    pub fn region<T: Pod>(&self, region: &Region, what: &str) -> Result<Vec<T>, Error> {
        if region.record_size as usize != size_of::<T>() {
            return Err(self.damaged(format!("its records of {what} have an unexpected size")));
        }
        self.records(region.offset, region.count.min(region.capacity) as usize, what)
    }
}
