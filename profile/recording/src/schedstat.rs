//! Reads the file `/proc/PID/task/TID/schedstat` of Linux: how long a thread was on a processor,
//! how long it was ready to run without one, and how many time slices it had. Users may read the
//! file for their own threads. If the kernel has no scheduler statistics, the file has zeros or
//! does not exist.

/// How long a thread was on a processor, and how long it was ready to run without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// For how many nanoseconds it was on a processor.
    pub cpu_ns: u64,
    /// For how many nanoseconds it was ready to run without one.
    pub ready_ns: u64,
}

/// The times in the file's text; `None` if it does not begin with two numbers.
pub fn parse(text: &[u8]) -> Option<Times> {
    let mut words = text.split(|&byte| byte == b' ');
    let mut number = || -> Option<u64> { str::from_utf8(words.next()?).ok()?.trim().parse().ok() };
    Some(Times { cpu_ns: number()?, ready_ns: number()? })
}

/// How many time slices the thread had, which is the third number in the file's text; `None` if
/// there is no such number.
pub fn slices(text: &[u8]) -> Option<u64> {
    str::from_utf8(text.split(|&byte| byte == b' ').nth(2)?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_gives_processor_and_ready_time() {
        assert_eq!(parse(b"17 4 2\n"), Some(Times { cpu_ns: 17, ready_ns: 4 }));
        assert_eq!(parse(b"17 4\n"), Some(Times { cpu_ns: 17, ready_ns: 4 }));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"17"), None);
        assert_eq!(parse(b"-1 4 2"), None);
        assert_eq!((slices(b"17 4 2\n"), slices(b"17 4\n"), slices(b"")), (Some(2), None, None));
    }
}
