//! The kernel's information about this process, in /proc.

use core::ops::Range;

/// Reads the file at `path`, which must end in a zero byte. The result is empty if the file can't
/// be opened, and incomplete if a read fails.
///
/// libc's `open`, `read` and `close` are cancellation points. But this function also runs inside
/// functions that are not cancellation points, such as `pthread_mutex_lock`, in which a cancelled
/// thread must not end. Hence it makes its system calls through `syscall`, which is not a
/// cancellation point.
pub fn read(path: &mut str) -> Vec<u8> {
    let mut text = Vec::new();
    // SAFETY: the name ends in a zero byte, and each part of the buffer is written before the
    // length includes it.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
        if file < 0 {
            return text;
        }
        loop {
            text.reserve(4096);
            let (at, room) = (text.as_mut_ptr().add(text.len()), text.capacity() - text.len());
            let n = libc::syscall(libc::SYS_read, file, at, room);
            if n <= 0 {
                break;
            }
            text.set_len(text.len() + n as usize);
        }
        libc::syscall(libc::SYS_close, file);
    }
    text
}

/// A mapping of this process.
pub struct Mapping {
    /// The addresses that it covers.
    pub range: Range<u64>,
    /// Whether it may be written to.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
    /// Whether it is the main thread's stack.
    pub is_stack: bool,
}

/// All mappings of this process; none if they can't be read.
pub fn mappings() -> impl Iterator<Item = Mapping> {
    let text = read(&mut "/proc/self/maps\0".to_owned());
    let text = String::from_utf8_lossy(&text).into_owned();
    let all: Vec<Mapping> = text.lines().filter_map(mapping).collect();
    all.into_iter()
}

fn mapping(line: &str) -> Option<Mapping> {
    let (bounds, rest) = line.split_once(' ')?;
    let (low, high) = bounds.split_once('-')?;
    let rights = rest.as_bytes();
    Some(Mapping {
        range: u64::from_str_radix(low, 16).ok()?..u64::from_str_radix(high, 16).ok()?,
        writable: rights.get(1) == Some(&b'w'),
        executable: rights.get(2) == Some(&b'x'),
        is_stack: line.ends_with("[stack]"),
    })
}

/// The bounds of the mapping that contains an address; `None` if there is none. The mapping of the
/// main thread's stack may still grow downwards, so its lower bound is as low as the limit on the
/// stack's size allows.
pub fn mapping_around(address: u64) -> Option<(u64, u64)> {
    let found = mappings().find(|mapping| mapping.range.contains(&address))?;
    let (low, high) = (found.range.start, found.range.end);
    if !found.is_stack {
        return Some((low, high));
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    const UNLIMITED_MEANS: u64 = 8 << 20;
    let size = if limit.rlim_cur > 1 << 40 { UNLIMITED_MEANS } else { limit.rlim_cur };
    Some((low.min(high.saturating_sub(size)), high))
}
