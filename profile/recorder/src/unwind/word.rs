//! Reads words that may not be mapped: those of a stack that is not the thread's own, such as a
//! coroutine's, whose bounds are unknown.

use core::arch::asm;

use crate::thread::usage::is_sandboxed;

/// Reads words of this process.
#[derive(Default)]
pub struct Words {
    sandboxed: Option<bool>,
}

impl Words {
    /// The word at an address; an error if it can't be read.
    ///
    /// Sandboxes that end a program for reading memory by `process_vm_readv` are common: systemd's
    /// `@system-service` does not allow it. In a sandbox, the word is read directly, after a check.
    pub fn read(&mut self, at: u64) -> Result<u64, ()> {
        if !*self.sandboxed.get_or_insert_with(is_sandboxed) {
            return copy(at);
        }
        // SAFETY: the word could be read just now. The stack that a thread runs on is not unmapped
        // meanwhile.
        can_read(at).then(|| unsafe { (at as *const u64).read_unaligned() }).ok_or(())
    }
}

/// A copy of the word, which the kernel makes.
fn copy(at: u64) -> Result<u64, ()> {
    let mut word = 0u64;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 8 };
    let remote = libc::iovec { iov_base: at as *mut _, iov_len: 8 };
    // SAFETY: the kernel checks the address.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    if read == 8 { Ok(word) } else { Err(()) }
}

/// Whether a word can be read. The word is passed to the kernel as a new signal mask, which the
/// kernel reads before it refuses an unknown way of changing the mask.
fn can_read(at: u64) -> bool {
    const UNKNOWN: u64 = 99;
    let result: i64;
    // SAFETY: the kernel checks the address, and changes nothing.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask => result,
            in("rdi") UNKNOWN,
            in("rsi") at,
            in("rdx") 0,
            in("r10") size_of::<u64>(),
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result == -i64::from(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_both_ways_and_only_where_memory_is_mapped() {
        // SAFETY: a new mapping of two pages; the second one is given back.
        let page = unsafe {
            let (read, private) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let at = libc::mmap(core::ptr::null_mut(), 8192, read, private, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::munmap(at.byte_add(4096), 4096), 0);
            at as u64
        };
        let word = 77u64;
        for sandboxed in [false, true] {
            let mut words = Words { sandboxed: Some(sandboxed) };
            assert_eq!(words.read((&raw const word) as u64), Ok(77));
            assert_eq!(words.read(page + 4088), Ok(0));
            assert_eq!(words.read(page + 4092), Err(()), "half of it is not mapped");
            assert_eq!(words.read(page + 4096), Err(()));
            assert_eq!(words.read(8), Err(()));
            assert_eq!(words.read(u64::MAX - 7), Err(()));
        }
    }
}
