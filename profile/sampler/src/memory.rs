//! Reads the memory of another process. A read gives all that was asked for, or `None`.

use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// The memory of a process.
pub struct Memory(pub u32);

impl Memory {
    /// The word `offset` bytes after the address `at`.
    pub fn word(&self, at: u64, offset: u64) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(at.checked_add(offset)?)?))
    }

    /// The bytes from this address on.
    pub fn bytes<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(at, &mut bytes)?;
        Some(bytes)
    }

    /// `length` bytes, from `offset` bytes after the address `at` on.
    pub fn vector(&self, at: u64, offset: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.fill(at.checked_add(offset)?, &mut bytes)?;
        Some(bytes)
    }

    fn fill(&self, at: u64, bytes: &mut [u8]) -> Option<()> {
        if bytes.is_empty() {
            return Some(());
        }
        let length = bytes.len();
        let from = [RemoteIoVec { base: usize::try_from(at).ok()?, len: length }];
        let pid = Pid::from_raw(self.0 as i32);
        let read = process_vm_readv(pid, &mut [IoSliceMut::new(bytes)], &from).ok()?;
        (read == length).then_some(())
    }
}
