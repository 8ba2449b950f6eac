//! What the kernel says of this process, in /proc.

/// Reads a file whose name ends in a zero byte; empty if that fails.
pub fn read(path: &mut str) -> Vec<u8> {
    let mut text = Vec::new();
    // SAFETY: the name ends in a zero byte, and each part of the buffer is written before it is
    // counted as there.
    unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return text;
        }
        loop {
            text.reserve(4096);
            let at = text.as_mut_ptr().add(text.len()).cast();
            let n = libc::read(file, at, text.capacity() - text.len());
            if n <= 0 {
                break;
            }
            text.set_len(text.len() + n as usize);
        }
        libc::close(file);
    }
    text
}

/// The bounds of the mapping that an address lies in. The main thread's stack grows downwards, so
/// it begins as low as its limit allows.
pub fn mapping_around(address: u64) -> Option<(u64, u64)> {
    let text = read(&mut "/proc/self/maps\0".to_owned());
    let text = String::from_utf8_lossy(&text);
    let bounds = |line: &str| {
        let (low, high) = line.split_once(' ')?.0.split_once('-')?;
        Some((u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?))
    };
    let found = text.lines().find_map(|line| {
        let (low, high) = bounds(line)?;
        (low..high).contains(&address).then_some((line, low, high))
    });
    let (line, low, high) = found?;
    if !line.ends_with("[stack]") {
        return Some((low, high));
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    const UNLIMITED_MEANS: u64 = 8 << 20;
    let size = if limit.rlim_cur > 1 << 40 { UNLIMITED_MEANS } else { limit.rlim_cur };
    Some((low.min(high.saturating_sub(size)), high))
}
