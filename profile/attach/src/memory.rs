//! Reads and writes the memory of another process.

use std::io;

/// The memory of the process with this number.
#[derive(Clone, Copy, Debug)]
pub struct Memory(pub u32);

impl Memory {
    /// Fills a buffer with the bytes from an address on. Fails if not all of them are mapped.
    pub fn read_into(self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let rest = &mut buffer[done..];
            let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
            let remote =
                libc::iovec { iov_base: (at + done as u64) as *mut _, iov_len: rest.len() };
            // SAFETY: the kernel writes only into the buffer, and checks the other process's
            // address.
            let n = unsafe { libc::process_vm_readv(self.0 as i32, &local, 1, &remote, 1, 0) };
            match n {
                1.. => done += n as usize,
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }

    /// Reads `length` bytes from an address on.
    pub fn read(self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; length];
        self.read_into(at, &mut buffer)?;
        Ok(buffer)
    }

    /// Reads at most `length` bytes from an address on, only up to the first page that is not
    /// mapped.
    pub fn read_up_to(self, at: u64, length: usize) -> Vec<u8> {
        const PAGE: u64 = 4096;
        let mut all = Vec::new();
        while all.len() < length {
            let next = at + all.len() as u64;
            let step = (PAGE - next % PAGE).min((length - all.len()) as u64) as usize;
            match self.read(next, step) {
                Ok(bytes) => all.extend(bytes),
                Err(_) => break,
            }
        }
        all
    }

    /// Reads a word.
    pub fn word(self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read_into(at, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Reads a text that ends in a zero byte. Fails if it has 4096 bytes or more.
    pub fn text(self, at: u64) -> io::Result<String> {
        let bytes = self.read_up_to(at, 4096);
        let end = bytes.iter().position(|&b| b == 0).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// Writes bytes to an address. Fails if the process itself may not write there.
    pub fn write(self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let local =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: at as *mut _, iov_len: bytes.len() };
        // SAFETY: the kernel only reads the buffer, and checks the other process's address.
        let n = unsafe { libc::process_vm_writev(self.0 as i32, &local, 1, &remote, 1, 0) };
        if n == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Converts bytes to words of eight bytes.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
}
