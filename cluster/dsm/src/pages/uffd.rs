//! userfaultfd, as the kernel's headers define it. Pages are registered with the kernel; then
//! accesses to absent pages (and first writes, if requested) raise SIGBUS in the thread that makes
//! them.
//!
//! Source: Linux, include/uapi/linux/userfaultfd.h and fs.h; userfaultfd(2), ioctl_pagemap_scan(2).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::memory::Reserved;
use crate::shape::PAGE;

/// Accesses raise SIGBUS instead of waking a thread that reads the descriptor.
pub const SIGBUS: u64 = 1 << 7;
/// First writes can be reported (`UFFD_FEATURE_PAGEFAULT_FLAG_WP`).
pub const WRITE_PROTECT: u64 = 1 << 0;
/// The kernel records first writes by itself.
pub const ASYNCHRONOUS: u64 = 1 << 15;

const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xaa;
const MODE_MISSING: u64 = 1;
const MODE_WP: u64 = 2;
const COPY_MODE_WP: u64 = 2;
const WRITEPROTECT_WP: u64 = 1;

/// The number of an `ioctl` request, as the kernel's macro `_IOWR(kind, number, type)` computes it;
/// `bytes` is the size of the type.
const fn request(kind: u8, number: u8, bytes: usize) -> libc::c_ulong {
    3 << 30
        | (bytes as libc::c_ulong) << 16
        | (kind as libc::c_ulong) << 8
        | number as libc::c_ulong
}

const UFFDIO_API: libc::c_ulong = request(0xaa, 0x3f, size_of::<Handshake>());
const UFFDIO_REGISTER: libc::c_ulong = request(0xaa, 0x00, size_of::<Register>());
const UFFDIO_COPY: libc::c_ulong = request(0xaa, 0x03, size_of::<Copy>());
const UFFDIO_WRITEPROTECT: libc::c_ulong = request(0xaa, 0x06, size_of::<Protect>());
const PAGEMAP_SCAN: libc::c_ulong = request(b'f', 16, size_of::<Scan>());

#[repr(C)]
#[derive(Default)]
struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Default)]
struct Register {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Default)]
struct Copy {
    to: u64,
    from: u64,
    bytes: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
#[derive(Default)]
struct Protect {
    start: u64,
    bytes: u64,
    mode: u64,
}

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// The kernel's `struct page_region`.
#[repr(C)]
#[derive(Clone, core::marker::Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const IS_WRITTEN: u64 = 1 << 1;
const IS_PRESENT: u64 = 1 << 3;
const WP_MATCHING: u64 = 1 << 0;
const CHECK_WPASYNC: u64 = 1 << 1;

fn control<T>(file: RawFd, request: libc::c_ulong, argument: &mut T) -> io::Result<i32> {
    // SAFETY: the argument is the structure that the request is defined for.
    let result = unsafe { libc::ioctl(file, request as _, std::ptr::from_mut(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Pages that are registered with userfaultfd.
pub struct Userfault {
    file: OwnedFd,
    pub pages: Reserved,
}

impl Userfault {
    /// Opens a userfaultfd descriptor with these features.
    ///
    /// # Errors
    ///
    /// If this system has no userfaultfd, forbids it, or lacks one of the features.
    pub fn open(features: u64) -> io::Result<OwnedFd> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: makes a descriptor.
        let file = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that is ours alone.
        let file = unsafe { OwnedFd::from_raw_fd(file as RawFd) };
        let mut handshake = Handshake { api: API, features, ioctls: 0 };
        control(file.as_raw_fd(), UFFDIO_API, &mut handshake)?;
        Ok(file)
    }

    /// Registers pages, so that accesses to absent ones and first writes are reported.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn register(file: OwnedFd, pages: Reserved) -> io::Result<Userfault> {
        let (start, bytes) = (pages.base().addr() as u64, pages.bytes() as u64);
        let mut register = Register { start, bytes, mode: MODE_MISSING | MODE_WP, ioctls: 0 };
        control(file.as_raw_fd(), UFFDIO_REGISTER, &mut register)?;
        Ok(Userfault { file, pages })
    }

    /// Makes absent pages present with these bytes, and protects them against writes in the same
    /// step.
    pub fn copy(&self, first: usize, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let mut copy = Copy {
                to: self.pages.page(first).addr() as u64 + done as u64,
                from: bytes[done..].as_ptr().addr() as u64,
                bytes: (bytes.len() - done) as u64,
                mode: COPY_MODE_WP,
                copied: 0,
            };
            match control(self.file.as_raw_fd(), UFFDIO_COPY, &mut copy) {
                Ok(_) => return,
                // The call was interrupted after a part of the bytes, or because the mapping
                // changed.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                    done += copy.copied.max(0) as usize;
                }
                Err(error) => panic!("page {first} can't be put in its place: {error}"),
            }
        }
    }

    /// Makes first writes to these pages raise SIGBUS, or stops that.
    pub fn protect(&self, pages: Range<usize>, against_writes: bool) {
        let mut protect = Protect {
            start: self.pages.page(pages.start).addr() as u64,
            bytes: (pages.len() * PAGE) as u64,
            mode: if against_writes { WRITEPROTECT_WP } else { 0 },
        };
        loop {
            match control(self.file.as_raw_fd(), UFFDIO_WRITEPROTECT, &mut protect) {
                Ok(_) => return,
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => panic!("pages {pages:?} can't be protected: {error}"),
            }
        }
    }
}

/// Finds the pages that were written, and protects them again in the same step.
pub struct Scanner {
    pagemap: File,
    regions: Box<[Region; REGIONS]>,
}

const REGIONS: usize = 512;

impl Scanner {
    /// Opens this process's page map (`/proc/self/pagemap`), and checks that the kernel can scan
    /// it.
    ///
    /// # Errors
    ///
    /// If the process can't read its own page tables, or if the kernel can't scan them.
    pub fn new(pages: &Reserved) -> io::Result<Scanner> {
        let pagemap = File::open("/proc/self/pagemap")?;
        let mut scanner = Scanner { pagemap, regions: Box::new([Region::default(); REGIONS]) };
        scanner.scan(pages.base().addr() as u64, (pages.base().addr() + PAGE) as u64, 1)?;
        Ok(scanner)
    }

    /// Scans the addresses from `start` to `end` for written pages and protects these pages again,
    /// at most `most` of them (0: no limit). Returns the number of regions in which the kernel
    /// reports them, and the address at which the scan has ended.
    fn scan(&mut self, start: u64, end: u64, most: u64) -> io::Result<(usize, u64)> {
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            flags: WP_MATCHING | CHECK_WPASYNC,
            start,
            end,
            vec: self.regions.as_mut_ptr().addr() as u64,
            vec_len: REGIONS as u64,
            max_pages: most,
            category_mask: IS_WRITTEN | IS_PRESENT,
            return_mask: IS_WRITTEN,
            ..Scan::default()
        };
        let found = control(self.pagemap.as_raw_fd(), PAGEMAP_SCAN, &mut scan)?;
        Ok((found as usize, scan.walk_end))
    }

    /// See [`Pages::take_written`](super::Pages::take_written).
    pub fn take_written(
        &mut self,
        reserved: &Reserved,
        pages: Range<usize>,
        most: usize,
        found: &mut dyn FnMut(usize),
    ) {
        let base = reserved.base().addr() as u64;
        let mut start = reserved.page(pages.start).addr() as u64;
        let end = reserved.page(pages.end).addr() as u64;
        let mut left = most as u64;
        while start < end && left > 0 {
            let limit = if most == usize::MAX { 0 } else { left };
            let (regions, walked) = match self.scan(start, end, limit) {
                Ok(scanned) => scanned,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => panic!("written pages can't be found: {error}"),
            };
            for region in &self.regions[..regions] {
                for page in (region.start - base) / PAGE as u64..(region.end - base) / PAGE as u64 {
                    found(page as usize);
                    left = left.saturating_sub(1);
                }
            }
            start = walked;
        }
    }
}
